// Commands that the user types, and the question before one that changes the node.

import { changesNode, type Reply } from './commands.ts'
import { narrow } from './data/inert.ts'
import type { DeskProps, DeskState } from './desk-state.ts'
import { TABS } from './tabs/index.ts'
import { wrapLines } from './widgets/wrap.ts'

interface CommandingParts {
  props(): DeskProps
  set(part: Partial<DeskState>): void
  goTo(tab: number): void
  help(): void
}

export interface Commanding {
  /** What was typed, the newest last. */
  readonly history: readonly string[]
  /** A question waits for its answer. */
  readonly isAsking: boolean
  command(text: string): void
  /** Asks before a command runs. */
  ask(question: string, command: string): void
  /** The question has been drawn: only now can it be answered. */
  shown(): void
  /** Answers the question by the key's name. */
  answer(name: string): void
}

const HISTORY = 50

export function createCommanding({ props, set, goTo, help }: CommandingParts): Commanding {
  const { replay, commands, readOnly } = props()
  let asking: { command: string; isShown: boolean } | undefined
  let history: string[] = []
  const wrapped = (lines: readonly string[]) => wrapLines(lines, props().size.columns - 4)

  const run = (command: string): void => {
    set({ note: `:${command} …` })
    const ended = ({ status, lines }: Reply): void => {
      const rows = lines.map((text) => narrow(text))
      set({ note: status === 0 ? undefined : `:${command} ended with status ${status}` })
      const [first = 'done', ...others] = rows
      // A line that fits stands at the bottom; longer output covers the body.
      if (others.length === 0 && first.length + 2 <= props().size.columns && status === 0)
        set({ note: first })
      else set({ over: { title: `:${command}`, rows: wrapped(rows), at: 0 } })
    }
    props()
      .onCommand(command)
      .then(ended, (error: Error) => set({ note: narrow(error.message) }))
  }

  const ask = (question: string, command: string) => {
    if (replay) return set({ note: 'this is a recording: there is no node to change' })
    if (readOnly) return set({ note: 'this screen is read-only (--read-only)' })
    const choice = 'y yes  any other key: no'
    const whole = `${question}  \`waggle ${command}\`?  ${choice}`
    const fits = whole.length + 2 <= props().size.columns
    set({ note: fits ? whole : choice })
    // Too long for the bottom row, so show it in the body.
    if (!fits) set({ over: { title: question, rows: wrapped([`waggle ${command}`]), at: 0 } })
    asking = { command, isShown: false }
  }

  const goToNamed = (argument: string): void => {
    const wanted = argument.toLowerCase()
    const at = TABS.findIndex(
      ({ title }, i) => wanted === String(i + 1) || (wanted !== '' && title.toLowerCase().startsWith(wanted)),
    )
    if (at < 0) set({ note: `there is no tab "${argument}"` })
    else goTo(at)
  }

  return {
    ask,
    get history() {
      return history
    },
    get isAsking() {
      return asking !== undefined
    },
    command(text) {
      const [name = '', argument = ''] = text.split(/\s+/)
      if (name === '') return
      history = [...history.filter((old) => old !== text), text].slice(-HISTORY)
      if (name === 'quit' || name === 'q') return props().onDetach()
      if (name === 'keys') return help()
      if (name === 'tab') return goToNamed(argument)
      if (replay) return set({ note: 'this is a recording: there is no node to ask' })
      if (changesNode(text, commands)) return ask('Run:', text)
      run(text)
    },
    shown() {
      if (asking) asking.isShown = true
    },
    answer(name) {
      // Typed or pasted before anybody could read the question.
      if (!asking?.isShown) return
      const { command } = asking
      asking = undefined
      set({ note: undefined, over: undefined })
      if (name === 'y') run(command)
    },
  }
}
