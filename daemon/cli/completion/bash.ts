// Completion in bash. Bash splits words at `=`, so that `--set key=value` is four words to it.

import { GLOBAL_OPTIONS } from '../global-options.ts'
import { type Words, wordsFor } from './words.ts'

export function bash({ commands, valued, takingFiles, settings }: Words): string {
  const values = valued.map(({ flag, values }) => `    ${flag}) words="${values.join(' ')}" ;;`)
  const ofKeys = Map.groupBy(
    settings.filter((setting) => !setting.endsWith('=')),
    (setting) => setting.slice(0, setting.indexOf('=')),
  )
  const keys = [...ofKeys].map(
    ([key, all]) => `    ${key}) words="${all.map((one) => one.slice(key.length + 1)).join(' ')}" ;;`,
  )
  const cases = commands.map(
    (command) => `    ${command.name}) words="${wordsFor(command, commands).join(' ')}" ;;`,
  )
  return `# bash completion for waggle: source <(waggle completion bash)
_waggle() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" command="" word words="" key=""
  if [[ "$current" == "=" ]]; then key="$previous"; current=""
  elif [[ "$previous" == "=" ]]; then key="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  case "\${key:-$previous}" in
${[...values, ...keys].join('\n')}
    --set)
      compopt -o nospace 2>/dev/null
      words="${settings.filter((setting) => setting.endsWith('=')).join(' ')}" ;;
    ${takingFiles.join('|')}) mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    *) if [[ -n "$key" ]]; then return; fi ;;
  esac
  if [[ -n "$words" ]]; then mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current"); return; fi
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) command="$word"; break ;; esac
  done
  case "$command" in
${cases.join('\n')}
    *) words="${commands.map(({ name }) => name).join(' ')} ${GLOBAL_OPTIONS.map(({ name }) => `--${name}`).join(' ')}" ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o filenames -F _waggle waggle`
}
