// Text to the clipboard of the terminal that the reader sits at, through ssh and tmux, too (OSC 52). For IDs and our
// own words only: never what a peer wrote.

const PLAIN = /^[\x20-\x7e]{1,4096}$/

/** Empty where the text is anything but plain ASCII. */
export function copySequence(text: string): string {
  return PLAIN.test(text) ? `\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007` : ''
}
