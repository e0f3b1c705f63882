// Breaks text into rows of a given width, at spaces if possible. Each character counts as one cell.

export function wrapText(text: string, width: number): string[] {
  if (width < 1) return []
  return text.split('\n').flatMap((line) => wrapLine([...line], width))
}

function wrapLine(characters: string[], width: number): string[] {
  const rows: string[] = []
  let rest = characters
  while (rest.length > width) {
    const space = rest.lastIndexOf(' ', width)
    const at = space > width / 2 ? space : width
    rows.push(rest.slice(0, at).join(''))
    rest = rest.slice(rest[at] === ' ' ? at + 1 : at)
  }
  return [...rows, rest.join('')]
}
