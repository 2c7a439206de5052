"""Makes a program of fragments of C++ in prose, so that a compiler can say whether they stand.

Fragments of a page stand in namespaces within each other, so that a later one sees and may hide what an earlier one declares. A
fragment is cut at blank lines: paragraphs that begin with declarations become declarations, from the first other one on it is the
body of a function, a coroutine if it awaits. `…` and a line of `...` stand for what is left out.
"""

import re

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[^\n]*$', re.MULTILINE)
DECLARATION = re.compile(
    r"(?:template|struct|class|enum|namespace|inline|static|constexpr|extern|union|concept|using)\b(?!.*\)\s*;)"
    r"|(?!(?:if|for|while|switch|do|else|return|co_\w+)\b)[\w:<>,&* ]+[\s&*]\w+\([^()]*\)[^;()=]*\{\s*(?://.*)?$"
)
LEFT_OUT = re.compile(r"^(\s*)\.\.\.(\s*(?://.*)?)$", re.MULTILINE)
SUPPORT = """
namespace fragments {
struct anything {  // what a body returns: the reader decides
  template <class T>
  anything(T&&) {}
  anything() = default;
};
}
"""


def paragraphs(code):
    """Pieces of a fragment between blank lines outside of all braces, as (line, text)."""
    found, start, depth = [], None, 0
    lines = code.split("\n")
    for number, line in enumerate(lines):
        if start is None and line.strip():
            start = number
        bare = re.sub(r'"(?:\\.|[^"\\])*"|//.*', "", line)
        depth += bare.count("{") - bare.count("}")
        if start is not None and depth <= 0 and not line.strip():
            found.append((start, "\n".join(lines[start:number])))
            start, depth = None, 0
    if start is not None:
        found.append((start, "\n".join(lines[start:])))
    return found


def declares(paragraph):
    """Whether its first line that is no comment begins a declaration of a namespace."""
    for line in paragraph.split("\n"):
        if line.strip() and not line.lstrip().startswith("//"):
            return bool(DECLARATION.match(line))
    return True


def filled(code):
    code = LEFT_OUT.sub(r"\1;\2", code).replace("{ ... }", "{}").replace("…", ";")
    return INCLUDE.sub("", code)


def split(code):
    """The declarations and the statements of a fragment, each as (line, text)."""
    parts = paragraphs(filled(code))
    first = next((i for i, (_, text) in enumerate(parts) if not declares(text)), len(parts))
    return parts[:first], parts[first:]


def marked(parts, page, line):
    return "".join(f'#line {line + offset} "{page}"\n{text}\n' for offset, text in parts)


class Program:
    """A translation unit that is put together from pages."""

    def __init__(self):
        self.includes, self.body, self.open, self.count = [], [], 0, 0

    def include(self, text, page, line):
        """Takes the includes of a text, which stand on top whatever is around them."""
        for match in INCLUDE.finditer(text):
            self.includes.append(f'#line {line + text.count(chr(10), 0, match.start())} "{page}"\n{match[0].strip()}\n')

    def begin(self, page, prelude="", line=1):
        """A new page, which sees nothing of those before. The prelude stands in its namespace."""
        self.body.append("}" * self.open + f"\nnamespace page_{self.count} {{\nusing namespace std::chrono_literals;\n")
        self.open, self.count = 1, self.count + 1
        self.add_given(prelude, page, line)

    def add_given(self, code, page, line):
        """Declarations that the fragments after it see."""
        self.include(code, page, line)
        self.body.append(f'#line {line} "{page}"\n{INCLUDE.sub("", code)}\n')

    def add(self, code, page, line, around="…"):
        """A fragment. `around` is what it stands in, with itself as `…`; then it is not cut."""
        self.include(code, page, line)
        self.body.append(f"namespace fragment_{self.count} {{\n")
        self.open, self.count = self.open + 1, self.count + 1
        if around != "…":
            before, after = around.split("…", 1)
            self.body.append(f'#line {line} "{page}"\n{before}\n#line {line} "{page}"\n{filled(code)}\n{after}\n')
            return
        declarations, statements = split(code)
        self.body.append(marked(declarations, page, line))
        if statements:
            text = marked(statements, page, line)
            result = "scoll::task<fragments::anything>" if re.search(r"\bco_\w+\b", text) else "fragments::anything"
            end = "\nco_return fragments::anything();" if "task" in result else "\nreturn fragments::anything();"
            self.body.append(f'[[maybe_unused]] {result} body() {{\n{text}{end}\n}}\n')

    def text(self):
        return "".join([*self.includes, SUPPORT, *self.body, "}" * self.open, "\n"])
