#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/series.sh write|check: see series.py, which does the work. What is checked has to satisfy
# checkpatch, too.

. "${0%/*}/lib.sh"

need git python3
[ "${1:-}" != check ] || "$harness/check.sh" checkpatch
exec python3 "$harness/series.py" "$@"
