# SPDX-License-Identifier: GPL-2.0
# KUnit ran before init started: nothing left to do.
