// Formats numbers for display: three significant figures, SI prefixes, steady widths. Used by the commands and the
// terminal UI. A missing value is a dash, never zero.

export const MISSING = '-'

/** 1140 -> `1,140`; 48120 -> `48.1 k`. */
export function count(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return MISSING
  if (Math.abs(value) < 10_000) return Math.round(value).toLocaleString('en-US')
  return si(value)
}

/** Three significant figures and an SI prefix. */
export function si(value: number | undefined, unit = ''): string {
  if (value === undefined || !Number.isFinite(value)) return MISSING
  const prefixes = ['', 'k', 'M', 'G', 'T', 'P']
  let scaled = Math.abs(value)
  let prefix = 0
  // 999.5 would round to four figures, so it gets the next prefix.
  while (scaled >= 999.5 && prefix < prefixes.length - 1) {
    scaled /= 1000
    prefix += 1
  }
  const digits = prefix === 0 && Number.isInteger(value) ? 0 : scaled >= 99.95 ? 0 : scaled >= 9.995 ? 1 : 2
  const suffix = `${prefixes[prefix]}${unit}`
  return `${value < 0 ? '-' : ''}${scaled.toFixed(digits)}${suffix ? ` ${suffix}` : ''}`
}

export const bytes = (value: number | undefined): string => si(value, 'B')

/** 0.418 -> `41.8 %`. */
export function percent(share: number | undefined, digits = 1): string {
  if (share === undefined || !Number.isFinite(share)) return MISSING
  return `${(share * 100).toFixed(digits)} %`
}

export function decimal(value: number | undefined, digits = 3): string {
  if (value === undefined || !Number.isFinite(value)) return MISSING
  if (value !== 0 && Math.abs(value) < 10 ** -digits) return value.toExponential(1)
  return value.toFixed(Math.abs(value) >= 100 ? Math.max(0, digits - 2) : digits)
}

export function signed(value: number | undefined, digits = 3): string {
  if (value === undefined || !Number.isFinite(value)) return MISSING
  return `${value < 0 ? '' : '+'}${value.toFixed(digits)}`
}

/** `41 s`, `6 min`, `3 h 04 m`, `3 d 04 h`. */
export function duration(ms: number | undefined): string {
  if (ms === undefined || !Number.isFinite(ms)) return MISSING
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  const two = (n: number) => String(n).padStart(2, '0')
  if (hours < 24) return `${hours} h ${two(minutes % 60)} m`
  return `${Math.floor(hours / 24)} d ${two(hours % 24)} h`
}

/** `12:41:07` in local time. */
export function clockTime(ms: number): string {
  return new Date(ms).toTimeString().slice(0, 8)
}
