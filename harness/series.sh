#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/series.sh write|check: see series.py, which does the work.

. "${0%/*}/lib.sh"

need git python3
exec python3 "$harness/series.py" "$@"
