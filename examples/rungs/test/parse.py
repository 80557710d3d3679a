"""Checks that every file of the rungs parses, without the languages: deploy/requirements.txt has their grammars."""

import sys
from pathlib import Path

import tree_sitter_go
import tree_sitter_java
import tree_sitter_javascript
import tree_sitter_php
import tree_sitter_python
import tree_sitter_ruby
from tree_sitter import Language, Parser

JAVASCRIPT, RUBY = tree_sitter_javascript.language(), tree_sitter_ruby.language()
GRAMMARS = {
    ".cjs": JAVASCRIPT,
    ".go": tree_sitter_go.language(),
    ".java": tree_sitter_java.language(),
    ".js": JAVASCRIPT,
    ".php": tree_sitter_php.language_php(),
    ".py": tree_sitter_python.language(),
    ".rb": RUBY,
    ".ru": RUBY,
}


def wrong_line(node):
    """The line of the first part that does not parse."""
    children = [child for child in node.children if child.has_error]
    return wrong_line(children[0]) if children else node.start_point.row + 1


folders = [folder for folder in Path(__file__).parents[1].iterdir() if folder.is_dir()]
files = [file for folder in folders for file in folder.iterdir() if file.suffix in GRAMMARS]
wrong = 0
for file in files:
    tree = Parser(Language(GRAMMARS[file.suffix])).parse(file.read_bytes())
    if tree.root_node.has_error:
        print(f"{file}:{wrong_line(tree.root_node)}: does not parse", file=sys.stderr)
        wrong += 1
if wrong or not files:
    sys.exit(f"{wrong} of {len(files)} files do not parse")
