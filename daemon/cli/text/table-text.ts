// A plain-text table: columns as wide as their widest cell, numbers right-aligned.

export function tableText(head: readonly string[], rows: ReadonlyArray<readonly string[]>): string[] {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => (row[i] ?? '').length)))
  const right = head.map((_, i) => rows.every((row) => /^(-|[\d.,]+( ?[a-zA-Z%/]+)?)$/.test(row[i] ?? '-')))
  return [head, ...rows].map((row) =>
    row
      .map((cell, i) => (right[i] ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!)))
      .join('  ')
      .trimEnd(),
  )
}
