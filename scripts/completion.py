"""Completion of ferry's command line for bash and zsh, made from the parsed help of its commands.

`commands` has, for each command, a Command. bash(commands) and zsh(commands) return the scripts.
"""
import re
from dataclasses import dataclass, field


@dataclass
class Value:
    """What follows an option, or a positional. Kinds: words, file, folder, entries, fetches, inputs, ops, benches, command, text."""
    name: str
    kind: str
    choices: list = field(default_factory=list)  # of "words" the words; of "file" and "inputs" suffixes of files, none: any file


@dataclass
class Option:
    name: str
    short: str  # such as -n, or empty
    about: str
    value: Value | None  # None: a flag


@dataclass
class Command:
    about: str
    options: list
    positionals: list


def value_of(option, name, about):
    """The value of an option, from its name in the help, such as FILE.npy."""
    if option in ("--feed", "--feed-part", "--shape"):
        return Value(name, "inputs", ["npy"] if ".npy" in name else [])
    if option in ("--entry", "--fetch"):
        return Value(name, {"--entry": "entries", "--fetch": "fetches"}[option])
    if option == "--dump-after":
        return Value(name, "words", re.findall(r"[a-z_]+(?=,|$)", about.partition(":")[2]))
    if re.fullmatch(r"[a-z]+(\|[a-z]+)+", name):
        return Value(name, "words", name.split("|"))
    if suffix := re.search(r"\.([a-z]+)$", name):
        return Value(name, "file", [suffix[1]])
    return Value(name, "folder" if name == "DIR" else "file" if name.startswith("FILE") else "text")


def positional_of(command, name, about):
    kinds = {("launch", "COMMAND"): "command", ("worker", "COMMAND"): "command", ("explain", "OP"): "ops", ("bench", "NAME"): "benches",
             ("new", "NAME"): "text", ("conformance", "DIR"): "folder"}
    name = name.rstrip(".")
    return Value(name, kinds.get((command, name), "file"), list(dict.fromkeys(re.findall(r"\.([a-z]+)\b", f"{name} {about}"))))


# ---- bash ----

BASH_HEAD = r"""# Completion of ferry for bash; made from its help by scripts/make_pages.py.

# The lines of stdin that begin with $1. They are names from a file, so nothing in them is expanded.
_ferry_match() {
  local each
  COMPREPLY=()
  while IFS= read -r each; do
    [[ $each == "$1"* ]] && COMPREPLY+=("$2$(printf %q "$each")$3")
  done
}

# The names of one kind in the graph on the command line.
_ferry_names() {
  local each file=""
  for each in "${COMP_WORDS[@]}"; do
    case $each in *.pb | *.pbtxt | *.onnx) file=$each ;; esac
  done
  [ -n "$file" ] && timeout 2 "${COMP_WORDS[0]}" show "${file/#\~/$HOME}" --names "$1" 2> /dev/null
}

# Folders, and the files with one of the suffixes.
_ferry_files() {
  local suffix
  compopt -o filenames
  mapfile -t COMPREPLY < <(
    compgen -d -- "$word"
    for suffix in $1; do compgen -f -X "!*.$suffix" -- "$word"; done
  )
}

_ferry() {
  local command="${COMP_WORDS[1]}" word="${COMP_WORDS[COMP_CWORD]}" before="" input="" at=$COMP_CWORD i number=0
  COMPREPLY=()
  compopt -o default
  # "=" is a word: --device = cpu, --feed x = x.npy.
  [ "$word" = "=" ] && word="" && at=$((at + 1))
  before="${COMP_WORDS[at - 1]}"
  if [ "$before" = "=" ] || [ "$at" -gt "$COMP_CWORD" ]; then
    before="${COMP_WORDS[at - 2]}"
    [[ $before != --* ]] && input=$before && before="${COMP_WORDS[at - 3]}"
    [ "$before" = "=" ] && before="${COMP_WORDS[at - 4]}"
  fi
"""


def bash_lines(value):
    """Lines of bash that set COMPREPLY. If it stays empty, bash offers files."""
    if value.kind == "words":
        return [f'COMPREPLY=($(compgen -W "{" ".join(value.choices)}" -- "$word"))']
    if value.kind == "folder":
        return ["compopt -o filenames", 'mapfile -t COMPREPLY < <(compgen -d -- "$word")']
    if value.kind == "inputs":
        files = f'_ferry_files "{" ".join(value.choices)}"' if value.choices else "compopt +o default"
        return ['if [ -n "$input" ]; then', f"  {files}", "else", "  compopt -o nospace", '  _ferry_match "$word" "" = < <(_ferry_names inputs)', "fi"]
    if value.kind == "fetches":
        return ["compopt -o nospace", 'i=${word%"${word##*,}"}', '_ferry_match "${word##*,}" "$i" < <(_ferry_names fetches)']
    if value.kind in ("entries", "ops"):
        return [f'_ferry_match "$word" < <(_ferry_names {value.kind})']
    if value.kind == "benches":
        return ['_ferry_match "$word" < <("${COMP_WORDS[0]}" bench --list 2> /dev/null)']
    if value.kind == "file":
        return [f'_ferry_files "{" ".join(value.choices)}"'] if value.choices else [":"]
    return ["compopt +o default"]


def bash(commands):
    names = " ".join(commands)
    with_value = [(command, option) for command, parts in commands.items() for option in parts.options if option.value]
    text = [BASH_HEAD.rstrip("\n"),
            '  if [ "$COMP_CWORD" = 1 ]; then',
            f'    COMPREPLY=($(compgen -W "help {names} --help --version" -- "$word"))', "    return", "  fi",
            '  if [ "$command" = launch ]; then',
            "    for ((i = 2; i < COMP_CWORD; ++i)); do",
            '      [ "${COMP_WORDS[i]}" = -- ] || continue',
            "      declare -F _command_offset > /dev/null && _command_offset $((i + 1))", "      return", "    done", "  fi",
            '  case "$command $before" in']
    for command, option in with_value:
        text += [f'    "{command} {option.name}")', *("      " + line for line in bash_lines(option.value)), "      return", "      ;;"]
    text += ["  esac", '  if [[ $word == -* ]]; then', '    case "$command" in']
    for command, parts in commands.items():
        text.append(f'      {command}) COMPREPLY=($(compgen -W "{" ".join(option.name for option in parts.options)}" -- "$word")) ;;')
    text += ["    esac", "    return", "  fi",
             "  # The number of positionals before this word.",
             "  for ((i = 2; i < COMP_CWORD; ++i)); do", '    case "$command ${COMP_WORDS[i]}" in',
             "      " + " | ".join(f'"{command} {option.name}"' for command, option in with_value) + ")",
             "        i=$((i + 1))", '        while [ "${COMP_WORDS[i]}" = "=" ] || [ "${COMP_WORDS[i + 1]}" = "=" ]; do i=$((i + 1)); done', "        ;;",
             '      *" =") i=$((i + 1)) ;;', '      *" -"*) ;;', "      *) number=$((number + 1)) ;;", "    esac", "  done",
             '  case "$command $number" in', '    "help 0")', f'      COMPREPLY=($(compgen -W "{names}" -- "$word"))', "      ;;"]
    for command, parts in commands.items():
        for number, value in enumerate(parts.positionals):
            pattern = f'"{command} "*' if value.kind in ("benches", "folder") else f'"{command} {number}"'
            text += [f"    {pattern})", *("      " + line for line in bash_lines(value)), "      ;;"]
    return "\n".join([*text, "  esac", "}", "complete -F _ferry ferry"]) + "\n"


# ---- zsh ----

ZSH_HEAD = r"""#compdef ferry
# Completion of ferry for zsh; made from its help by scripts/make_pages.py.

# The names of one kind in the graph on the command line. The other arguments are options of compadd.
_ferry_names() {
  local kind=${@[(r)(entries|fetches|inputs|ops)]} each file=
  local -a names
  for each in $words; do
    case $each in *.pb | *.pbtxt | *.onnx) file=$each ;; esac
  done
  [[ -n $file ]] || return 1
  names=(${(f)"$(timeout 2 ferry show ${file/#\~/$HOME} --names $kind 2> /dev/null)"})
  compadd "${@:#$kind}" -a names
}

# NAME=VALUE with the name of an input, and for the value files that match $1.
_ferry_input() {
  local pattern=$@[-1]
  if compset -P '*='; then
    [[ -n $pattern ]] && _files -g $pattern
  else
    _ferry_names -S '=' inputs
  fi
}

# The command of the tasks, which may begin after "--".
_ferry_launched() {
  local at=${words[(i)--]}
  if (( at < CURRENT )); then
    shift $at words
    (( CURRENT -= at ))
  fi
  _normal
}

_ferry_benches() {
  local -a names
  names=(${(f)"$(ferry bench --list 2> /dev/null)"})
  compadd -a names
}

_ferry() {
  local curcontext=$curcontext state line
  local -a commands
  local -A opt_args
  commands=("""


def zsh_text(text):
    """Text in a specification of _arguments, in single quotes."""
    return re.sub(r"([\[\]:\\])", r"\\\1", text).replace("'", "'\\''")


def zsh_action(value):
    pattern = "*." + (f"({'|'.join(value.choices)})" if len(value.choices) > 1 else "".join(value.choices)) if value.choices else ""
    return {"words": f"({' '.join(value.choices)})", "folder": "_files -/", "entries": "_ferry_names entries", "ops": "_ferry_names ops",
            "fetches": "_sequence _ferry_names fetches", "benches": "_ferry_benches", "command": "_ferry_launched", "text": " ",
            "inputs": f'_ferry_input "{pattern}"', "file": f'_files -g "{pattern}"' if pattern else "_files"}[value.kind]


def zsh_option(option):
    described = f"[{zsh_text(option.about)}]"
    if not option.value:
        return f"'{option.name}{described}'"
    often, takes = "*" if "repeatable" in option.about else "", f"{described}:{zsh_text(option.value.name)}:{zsh_action(option.value)}'"
    return f"'{often}{option.name}={takes}" + (f" '{often}{option.short}+{takes}" if option.short else "")


def zsh_positional(value, number):
    place = {"command": "*::", "benches": "*:", "folder": "*:"}.get(value.kind, f"{number}:")
    return f"'{place}{zsh_text(value.name)}:{zsh_action(value)}'"


def zsh(commands):
    text = [ZSH_HEAD.rstrip("\n"),
            *(f"    '{name}:{zsh_text(parts.about)}'" for name, parts in commands.items()), "    'help:Prints the help of a command'", "  )",
            "  _arguments -C '(- *)'{-h,--help}'[Prints the help]' '(- *)'{-v,--version}'[Prints the version]' \\",
            "    '1:command:->command' '*::argument:->argument'",
            "  case $state in", "    command) _describe command commands ;;", "    argument)", "      case $words[1] in",
            "        help) _describe command commands ;;"]
    for name, parts in commands.items():
        specs = [zsh_option(option) for option in parts.options]
        specs += [zsh_positional(value, number) for number, value in enumerate(parts.positionals, 1)]
        text += [f"        {name})", "          _arguments -S \\", " \\\n".join("            " + spec for spec in specs), "          ;;"]
    return "\n".join([*text, "      esac", "      ;;", "  esac", "}", "", '_ferry "$@"']) + "\n"
