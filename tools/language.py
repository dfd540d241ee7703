# SPDX-License-Identifier: Apache-2.0
"""Rules of tools/tidy about names and words: one name, one thing; sentences that stand alone.

What is over a limit when its rule comes is listed in tools/tidy.ratchet and may only shrink.
"""
import collections
import re

# A comment or a rule between sections that begins so leans on its neighbour, or is a riddle.
COMMENT_OPENINGS = re.compile(r'/\*+(?:\s|\*|-{2,})*(\.\.\.|(?:Of|What|Who|Whose)\b(?! =))', re.I)
RULE = re.compile(r'^/\* (-+) [^\n]*? (-+) ?\*/$', re.M)
SPDX = re.compile(r'/\* SPDX-License-Identifier: [^\n]* \*/\n')
TYPE = re.compile(r'^(?:typedef )?(?:struct|union|enum) (\w+) \{', re.M)
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*')
# Private words that users should not have to learn, and what is said instead.
PRIVATE = {
    r'out of sight': 'not recorded',
    r'quiet connections?': 'idle connection',
    r'ladder': 'hook selection',
    r'condense[sd]?': 'downsample',
    r'ledger': 'host interference',
    r'(?:the|its|their|these) doings?': 'thread profile',
}
PRIVATE_WORD = re.compile(r'(?<![\w-])(' + '|'.join(PRIVATE) + r')(?![\w-])', re.I)
# "1 connections" in what the golden tests expect.
PLURALS = ('application bucket byte call client condition connection core cpu culprit drop event file group host '
           'interval kernel line message namespace packet page process program reason record recording request '
           'run sample second server socket span stage target thread time').split()
ONE_OF_MANY = re.compile(r'(?<![\w.,:/\u2009-])1 (?:' + '|'.join(PLURALS) + r')s\b(?! in )')
# T name(A a, B b) { return other(a, b); }
WRAPPER = re.compile(r'^(?:[a-z_][\w *]*?)\b(\w+)\(([^)]*)\)\n\{\n\t(?:return )?(\w+)\(([^()]*)\);\n\}', re.M)


def line_of(text, position):
    return text.count('\n', 0, position) + 1


def one_owner(tidy, found, what):
    """Break the rule for each name that is defined in more than one file."""
    for name, places in sorted(found.items()):
        files = {place.split(':')[0] for place in places}
        if len(files) > 1:
            for place in places[1:]:
                tidy.breaks(place, f'{what} {name} is also defined at {places[0]}')


def check_names(tidy):
    """A function's name, and a type's, says by itself where it lives: no two files define it."""
    functions, types = collections.defaultdict(list), collections.defaultdict(list)
    for path in tidy.sources():
        if path.startswith('src/bpf/kernel/'):      # the kernel's own names
            continue
        for name, first, _ in tidy.functions(path):
            functions[name].append(f'{path}:{first}')
        for match in TYPE.finditer(tidy.code[path]):
            types[match.group(1)].append(f'{path}:{line_of(tidy.code[path], match.start())}')
    one_owner(tidy, functions, 'function')
    one_owner(tidy, types, 'type')


def check_comments(tidy):
    for path in tidy.code:
        text = tidy.text[path]
        for match in COMMENT_OPENINGS.finditer(text):
            tidy.breaks(f'{path}:{line_of(text, match.start())}',
                        f'a comment begins with "{match.group(1)}": name the thing')


def check_style(tidy):
    """One form of the licence's line, and of the rule between sections."""
    for path in tidy.code:
        text = tidy.text[path]
        if 'SPDX-License-Identifier' in text[:80] and not SPDX.match(text):
            tidy.breaks(path, 'the licence stands in its first line as /* SPDX-License-Identifier: ... */')
        for match in RULE.finditer(text):
            if match.groups() != ('----', '----'):
                tidy.breaks(f'{path}:{line_of(text, match.start())}', 'a section begins with /* ---- NAME ---- */')


def check_private_words(tidy):
    """No private word in what users read: the strings of src and the manual pages."""
    for path, text in tidy.text.items():
        if path in tidy.code and path.startswith('src/'):
            found = [(m.start(), w) for m in STRING.finditer(text.replace("'\"'", "' '"))
                     for w in PRIVATE_WORD.findall(re.sub(r'"\s*"', '', m.group(0)))]
        elif path.startswith('docs/man/'):
            found = [(m.start(), m.group(1)) for m in PRIVATE_WORD.finditer(text)]
        else:
            continue
        for position, word in found:
            said = next(value for key, value in PRIVATE.items() if re.fullmatch(key, word, re.I))
            tidy.breaks(f'{path}:{line_of(text, position)}', f'"{word}" is a private word: say "{said}"')


def check_counts(tidy):
    for path, text in tidy.text.items():
        if path.startswith('tests/cli/') and path.endswith('.txt'):
            for match in ONE_OF_MANY.finditer(text):
                tidy.breaks(f'{path}:{line_of(text, match.start())}', f'says "{match.group(0)}"')


def check_wrappers(tidy):
    """A static function that hands its arguments on is a second name, unless it adapts void pointers."""
    for path in tidy.sources():
        for match in WRAPPER.finditer(tidy.code[path]):
            name, parameters, _, arguments = match.groups()
            if 'void *' in parameters or 'static' not in match.group(0).split(name)[0]:
                continue
            names = [re.sub(r'.*?(\w+)\W*$', r'\1', p.strip()) for p in parameters.split(',') if p.strip() != 'void']
            if names == [a.strip() for a in arguments.split(',') if a.strip()]:
                line = line_of(tidy.code[path], match.start())
                tidy.breaks(f'{path}:{line}', f'{name}() only renames {match.group(3)}()')


CHECKS = (check_names, check_comments, check_style, check_private_words, check_counts, check_wrappers)
