#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/cached.sh COMPILER [ARGUMENT...]: compile by way of ccache, but for assembly, whose
# .incbin is a dependency that the compiler does not tell of: a compressed kernel would be another
# one's.

case " $* " in
*" -D__ASSEMBLY__ "*)	exec "$@" ;;
esac
exec ccache "$@"
