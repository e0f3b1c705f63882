// What a terminal sends, as keys, pastes and mouse events. Pure: text in, inputs out, and what is not complete yet.
// Sequences as in xterm's ctlseqs: CSI and SS3 keys, bracketed paste (2004), SGR mouse (1006).

export interface Key {
  /** `a`, `return`, `upArrow`, `ctrl-a`, `alt-b`, `shift-tab`, ... */
  name: string
  /** The character that it types; empty if none. */
  text: string
}

/** Cells count from 0. */
export interface Mouse {
  did: 'press' | 'wheelUp' | 'wheelDown'
  column: number
  row: number
}

export type Input = ({ type: 'key' } & Key) | { type: 'paste'; text: string } | ({ type: 'mouse' } & Mouse)

const PASTE = '\u001b[200~'
const PASTE_END = '\u001b[201~'
/** Characters of a paste that are kept. */
const MAX_PASTE = 65_536

const FINALS: Record<string, string> = {
  A: 'upArrow',
  B: 'downArrow',
  C: 'rightArrow',
  D: 'leftArrow',
  H: 'home',
  F: 'end',
}
const NUMBERED: Record<string, string> = {
  1: 'home',
  3: 'delete',
  4: 'end',
  5: 'pageUp',
  6: 'pageDown',
  7: 'home',
  8: 'end',
}
const CONTROLS: Record<string, string> = {
  '\r': 'return',
  '\n': 'return',
  '\t': 'tab',
  '\b': 'backspace',
  '\u007f': 'backspace',
}

const SEQUENCE = /\u001b(?:\[([0-?]*)[ -/]*([@-~])|O([A-Za-z]))/y
const UNFINISHED = /\u001b(?:\[[0-?]*[ -/]*|O)?$/y

/** `rest` is the beginning of a sequence or of a paste, to be given again before what comes next. */
export function decode(text: string): { inputs: Input[]; rest: string } {
  const inputs: Input[] = []
  let at = 0
  while (at < text.length) {
    if (text.startsWith(PASTE, at)) {
      const from = at + PASTE.length
      const end = text.indexOf(PASTE_END, from)
      if (end < 0) return { inputs, rest: PASTE + bounded(text.slice(from)) }
      inputs.push({ type: 'paste', text: text.slice(from, Math.min(end, from + MAX_PASTE)) })
      at = end + PASTE_END.length
      continue
    }
    SEQUENCE.lastIndex = at
    const [sequence, parameters = '', final, ss3] = SEQUENCE.exec(text) ?? []
    if (sequence !== undefined) {
      const input = parameters.startsWith('<') ? mouse(parameters, final!) : key(parameters, final ?? ss3!)
      if (input) inputs.push(input)
      at += sequence.length
      continue
    }
    UNFINISHED.lastIndex = at
    if (UNFINISHED.test(text)) return { inputs, rest: text.slice(at) }
    // Alt and a character; but Escape and then a control key.
    const alt = text[at] === '\u001b' && text[at + 1]! >= ' '
    if (alt) at += 1
    const character = String.fromCodePoint(text.codePointAt(at)!)
    inputs.push(typed(character, alt))
    at += character.length
  }
  return { inputs, rest: '' }
}

/** The end may be the beginning of PASTE_END. */
function bounded(paste: string): string {
  const tail = Math.max(MAX_PASTE, paste.length - PASTE_END.length + 1)
  return paste.slice(0, MAX_PASTE) + paste.slice(tail)
}

function typed(character: string, alt: boolean): Input {
  const control = character < ' ' ? `ctrl-${String.fromCharCode(character.charCodeAt(0) + 96)}` : undefined
  const name = CONTROLS[character] ?? (character === '\u001b' ? 'escape' : control)
  if (alt) return { type: 'key', name: `alt-${name ?? character}`, text: '' }
  return { type: 'key', name: name ?? character, text: name === undefined ? character : '' }
}

function key(parameters: string, final: string): Input | undefined {
  if (final === 'Z') return { type: 'key', name: 'shift-tab', text: '' }
  const [number = '', modifier = ''] = parameters.split(';')
  const name = final === '~' ? NUMBERED[number] : FINALS[final]
  if (name === undefined) return undefined
  const bits = Math.max(0, Number(modifier) - 1)
  return { type: 'key', name: `${bits & 4 ? 'ctrl-' : bits & 2 ? 'alt-' : ''}${name}`, text: '' }
}

const WHEEL = 64
const MOTION = 32

function mouse(parameters: string, final: string): Input | undefined {
  const [button = Number.NaN, column = 0, row = 0] = parameters.slice(1).split(';').map(Number)
  if (final !== 'M' || !(column >= 1 && row >= 1) || button & MOTION) return undefined
  const did =
    button & WHEEL
      ? (['wheelUp', 'wheelDown'] as const)[button & 3]
      : (button & 3) === 0
        ? ('press' as const)
        : undefined
  return did && { type: 'mouse', did, column: column - 1, row: row - 1 }
}

/** A lone Escape is held back for this long, to see whether it begins a longer key. */
const ESCAPE_MS = 50

/** Hands on what is typed, until the returned function is called. */
export function readInputs(stdin: NodeJS.ReadStream, onInput: (input: Input) => void): () => void {
  let rest = ''
  let timer: NodeJS.Timeout | undefined
  const onData = (chunk: string): void => {
    clearTimeout(timer)
    const read = decode(rest + chunk)
    rest = read.rest
    for (const input of read.inputs) onInput(input)
    if (rest !== '' && !rest.startsWith(PASTE)) timer = setTimeout(giveUp, ESCAPE_MS)
  }
  const giveUp = (): void => {
    const lone = rest === '\u001b'
    rest = ''
    if (lone) onInput({ type: 'key', name: 'escape', text: '' })
  }
  stdin.setEncoding('utf8')
  stdin.on('data', onData)
  return () => {
    clearTimeout(timer)
    stdin.off('data', onData)
    stdin.pause()
  }
}
