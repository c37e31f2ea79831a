# SPDX-License-Identifier: GPL-2.0
# For harness/docs.sh, on top of the tree's Documentation/conf.py: our documents alone.
master_doc = 'kprobes'
include_patterns = ['kprobes*.rst']
html_title = 'Kprobes'

# What belongs to others: types of the kernel's, and translations, which there are none of.
nitpick_ignore_regex = [('c:identifier', '.*'), ('std:doc', '/translations/.*')]
