// All keys, defined once: the app acts on them, the help page lists them.

export type Action =
  | 'tab'
  | 'nextTab'
  | 'previousTab'
  | 'down'
  | 'up'
  | 'pageDown'
  | 'pageUp'
  | 'halfDown'
  | 'halfUp'
  | 'top'
  | 'bottom'
  | 'open'
  | 'back'
  | 'freeze'
  | 'wider'
  | 'narrower'
  | 'sort'
  | 'reverse'
  | 'mouse'
  | 'filter'
  | 'search'
  | 'next'
  | 'previous'
  | 'command'
  | 'copy'
  | 'export'
  | 'mute'
  | 'dial'
  | 'wrap'
  | 'follow'
  | 'logarithm'
  | 'axis'
  | 'left'
  | 'right'
  | 'pause'
  | 'earlier'
  | 'later'
  | 'slower'
  | 'faster'
  | 'help'
  | 'reconnect'
  | 'repaint'
  | 'suspend'
  | 'detach'

interface KeyBinding {
  action: Action
  /** The key as help shows it. */
  shown: string
  does: string
  /** Characters sent by the terminal, or names of special keys. */
  input: readonly string[]
}

export const KEYS: readonly KeyBinding[] = [
  { action: 'tab', shown: '1-6', does: 'the tab of that number', input: ['1', '2', '3', '4', '5', '6'] },
  { action: 'nextTab', shown: 'Tab', does: 'next tab', input: ['tab'] },
  { action: 'previousTab', shown: 'Shift-Tab', does: 'previous tab', input: ['shift-tab'] },
  { action: 'down', shown: 'j', does: 'down', input: ['j', 'downArrow'] },
  { action: 'up', shown: 'k', does: 'up', input: ['k', 'upArrow'] },
  { action: 'pageDown', shown: 'PgDn', does: 'page down', input: ['pageDown', 'ctrl-f'] },
  { action: 'pageUp', shown: 'PgUp', does: 'page up', input: ['pageUp', 'ctrl-b'] },
  { action: 'halfDown', shown: 'Ctrl-D', does: 'half a page down', input: ['ctrl-d'] },
  { action: 'halfUp', shown: 'Ctrl-U', does: 'half a page up', input: ['ctrl-u'] },
  { action: 'top', shown: 'g', does: 'to the start', input: ['g', 'home'] },
  { action: 'bottom', shown: 'G', does: 'to the end', input: ['G', 'end'] },
  { action: 'open', shown: 'Enter', does: 'details', input: ['return'] },
  { action: 'back', shown: 'Esc', does: 'back', input: ['escape'] },
  { action: 'left', shown: 'h', does: 'left, earlier', input: ['h', 'leftArrow'] },
  { action: 'right', shown: 'l', does: 'right, later', input: ['l', 'rightArrow'] },
  { action: 'sort', shown: 's', does: 'sort by the next column', input: ['s'] },
  { action: 'reverse', shown: 'S', does: 'the same column, in the other order', input: ['S'] },
  { action: 'search', shown: '/', does: 'find; in lists, filter', input: ['/'] },
  { action: 'filter', shown: '&', does: 'filter by an expression; ! inverts', input: ['&'] },
  { action: 'next', shown: 'n', does: 'next match', input: ['n'] },
  { action: 'previous', shown: 'N', does: 'previous match', input: ['N'] },
  { action: 'command', shown: ':', does: 'a command; Tab completes it', input: [':'] },
  { action: 'freeze', shown: 'Space', does: 'freeze the screen', input: [' '] },
  { action: 'wider', shown: '+', does: 'longer time span on charts', input: ['+', '='] },
  { action: 'narrower', shown: '-', does: 'shorter time span on charts', input: ['-'] },
  { action: 'earlier', shown: '[', does: 'in a replay: earlier', input: ['['] },
  { action: 'later', shown: ']', does: 'in a replay: later', input: [']'] },
  { action: 'slower', shown: '<', does: 'in a replay: slower', input: ['<'] },
  { action: 'faster', shown: '>', does: 'in a replay: faster', input: ['>'] },
  { action: 'logarithm', shown: 'L', does: 'logarithmic charts on or off', input: ['L'] },
  { action: 'axis', shown: 'x', does: 'charts over time or steps', input: ['x'] },
  { action: 'wrap', shown: 'w', does: 'wrap long log lines or not', input: ['w'] },
  { action: 'follow', shown: 'f', does: 'follow the log', input: ['f'] },
  { action: 'copy', shown: 'c', does: 'copy the ID to the clipboard', input: ['c', 'y'] },
  { action: 'export', shown: 'e', does: 'export what is shown to a file', input: ['e'] },
  { action: 'mute', shown: 'm', does: 'mute or unmute a peer (asks first)', input: ['m'] },
  { action: 'dial', shown: 'd', does: 'connect to a peer (asks first)', input: ['d'] },
  { action: 'pause', shown: 'p', does: 'pause or resume training (asks first)', input: ['p'] },
  { action: 'reconnect', shown: 'r', does: 'reconnect to the daemon now', input: ['r'] },
  { action: 'mouse', shown: 'M', does: 'mouse on or off; off, it selects text', input: ['M'] },
  { action: 'repaint', shown: 'Ctrl-L', does: 'redraw the screen', input: ['ctrl-l'] },
  { action: 'suspend', shown: 'Ctrl-Z', does: 'suspend; `fg` returns here', input: ['ctrl-z'] },
  { action: 'help', shown: '?', does: 'this help', input: ['?'] },
  { action: 'detach', shown: 'q', does: 'leave; the daemon keeps running', input: ['q', 'ctrl-c'] },
]

const ACTIONS = new Map(KEYS.flatMap(({ action, input }) => input.map((name) => [name, action] as const)))

export const actionOf = (name: string): Action | undefined => ACTIONS.get(name)
