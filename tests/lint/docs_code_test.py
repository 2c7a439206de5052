#!/usr/bin/env python3
"""Code of pages and docstrings that does not compile is found, at its line: on small pages that are made up for it.

usage: docs_code_test.py COMPILER [FLAG...]
"""

import pathlib
import sys
import tempfile
import unittest

import docs_code

COMPILER = sys.argv[1:]
docs_code.COMMON = '#include "scoll/scoll.hpp"\n'
docs_code.GIVEN = "using namespace scoll;\n"
# The smallest part of the library that these blocks need.
LIBRARY = '''
#pragma once
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <string_view>
namespace scoll {
struct service_id { int number; };
struct call;
struct status {};
template <class T> struct result {};
template <class T> struct arrival {};
template <class T> struct task {
  struct promise_type {
    task get_return_object();
    std::suspend_never initial_suspend(), final_suspend() noexcept;
    void return_value(T);
    void unhandled_exception();
  };
  bool await_ready();
  void await_suspend(std::coroutine_handle<>);
  T await_resume();
};
}
'''

# A docstring that a formatter once reflowed: comments swallowed code, and code became comments.
SCRAMBLED = '''\
///
/// ```cpp
/// struct scrub {
///   static constexpr scoll::service_id id{0x0102};           // agreed by all nodes, `first_user_service` or
///   more static constexpr std::uint16_t version = 1;              // optional, 0 (`C16`) static constexpr
///   std::string_view name = "scrub";        // optional, for messages static constexpr std::size_t
///   reply_capacity = 1024;      // optional: the encoded merged reply at most static constexpr
///   std::chrono::nanoseconds processing_bound = 5s;  // optional, 10 s (`C11`) static constexpr bool brief =
///   true;                       // optional, false: execute is a plain function
///                                                             // and takes a few microseconds, always
///   struct request { ... };
///   struct reply { ... };                                     // optional
///   task<status> prepare(request&, call&);                    // check, rewrite or refuse, before forwarding
///   task<result<reply>> execute(const request&, call&);       // once per node
///   static void merge(reply& into, const reply& from) noexcept;  // a commutative monoid
///   task<void> on_reply(const arrival<reply>&, call&);        // each child as it arrives, failures too
///   task<status> finish(reply&, call&);                       // all are in: the merged reply
///   void replied(call&) noexcept;                             // the reply has gone, or has nobody to go to
/// };
/// ```
///
/// All but `merge` and `replied` may also be plain functions. A hook of the right name and the wrong form
'''
MENDED = '''\
/// ```cpp
/// struct scrub {
///   static constexpr scoll::service_id id{0x0102};  // agreed by all nodes
///   static constexpr std::uint16_t version = 1;     // optional, 0
///   struct request { ... };
///   task<status> prepare(request&, call&);          // check, rewrite or refuse, before forwarding
///   void replied(call&) noexcept;                   // the reply has gone, or has nobody to go to
/// };
/// ```
'''


class DocsCode(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="scoll-docs.")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "include/scoll").mkdir(parents=True)
        (self.root / "include/scoll/scoll.hpp").write_text(LIBRARY)

    def page(self, text):
        page = self.root / "page.md"
        page.write_text(text)
        program, count = docs_code.program_of_page(page, "page.md")
        answer = docs_code.compile(program, COMPILER, self.root)
        return count, answer.returncode, answer.stderr

    def docstring(self, text):
        (self.root / "include/one.hpp").write_text("#pragma once\n" + text)
        program, _ = docs_code.program_of_docstrings("include", self.root)
        answer = docs_code.compile(program, COMPILER, self.root)
        return answer.returncode, answer.stderr

    def good(self, text, blocks=1):
        self.assertEqual(self.page(text), (blocks, 0, ""))

    def bad(self, text, line, error):
        _, code, said = self.page(text)
        self.assertNotEqual(code, 0, text)
        self.assertIn(f"page.md:{line}:", said)
        self.assertIn(error, said)

    def test_fragments(self):
        self.good("```cpp\nint one = 1;\nif (one == 2) return one;\n```\n")
        self.good("```cpp\nstruct one {\n\n  int two;\n};\n\n// words\none o;\no.two = 3;\n```\n")
        self.good("```cpp\nint one = 1;\n...\nif (one) …  // words\n```\n```cpp\nint one = 2;\n```\n", 2)
        self.good("```cpp\ntemplate <class T>\nT twice(T t) {\n  return 2 * t;\n}\n```\n\n```cpp\nint one = twice(1);\n```\n", 2)
        self.good("<!-- compile: given\nscoll::task<int> f();\n-->\n```cpp\nauto one = co_await f();\nif (one) co_return one;\n```\n")
        self.good("```cpp\n#include <vector>\n\nint main() {\n  std::vector<int> v;\n}\n```\n")

    def test_what_pages_give(self):
        self.bad("```cpp\nint one = two;\n```\n", 2, "two")
        self.good("<!-- compile: given\nextern int two;\n-->\n```cpp\nint one = two;\n```\n")
        self.good("<!-- compile: within struct s { int two; … }; -->\n```cpp\nint one() { return two; }\n```\n")
        self.good("<!-- compile: not, because it is wrong -->\n```cpp\nint one = two;\n```\n", 0)
        self.good("<!-- from: examples/one.cpp -->\n```cpp\nint one = two;\n```\n", 0)
        self.bad("<!-- compile: given\nextern int two = ;\n-->\n```cpp\nint one = two;\n```\n", 2, "expected")
        self.bad("\n```cpp\nint one = 1;\n\nint two = three;\n```\n", 5, "three")

    def test_a_scrambled_docstring(self):
        self.assertEqual(self.docstring(MENDED), (0, ""))
        code, said = self.docstring(SCRAMBLED)
        self.assertNotEqual(code, 0)
        self.assertIn("include/one.hpp:6:", said)

    def test_blocks_of_docstrings_say_what_they_are(self):
        for text, word in (("/// ```\n/// a -> b\n/// ```\n", "`cpp` or `text`"), ("/// ```text\n/// a\nint b;\n/// c\n", "never closed")):
            with self.assertRaises(SystemExit) as stopped:
                self.docstring(text)
            self.assertIn("include/one.hpp:2: ", str(stopped.exception))
            self.assertIn(word, str(stopped.exception))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
