// The date that templates see. It is always the same, so a prompt is the same on every node and on every day: a peer
// that makes it again gets the same tokens. Llama 3 has this date in its own template.

import { TypeErrorOf } from '../values.ts'

const FIELDS: Record<string, string> = {
  ...{ a: 'Fri', A: 'Friday', w: '5', u: '5', d: '26', e: '26', b: 'Jul', h: 'Jul', B: 'July', m: '07' },
  ...{
    y: '24',
    Y: '2024',
    C: '20',
    G: '2024',
    g: '24',
    H: '00',
    I: '12',
    k: ' 0',
    l: '12',
    p: 'AM',
    P: 'am',
  },
  ...{ M: '00', S: '00', f: '000000', z: '', Z: '', j: '208', U: '29', W: '30', V: '30', n: '\n', t: '\t' },
  ...{ c: 'Fri Jul 26 00:00:00 2024', x: '07/26/24', X: '00:00:00', D: '07/26/24', F: '2024-07-26' },
  ...{ T: '00:00:00', R: '00:00', r: '12:00:00 AM', '%': '%' },
}

/** As Python's `datetime.strftime`. With `-`, a number has no zeros in front. */
export function formatDate(format: string): string {
  return format.replace(/%(-?)([\s\S]?)/gu, (all, dash: string, field: string) => {
    const text = Object.hasOwn(FIELDS, field) ? FIELDS[field]! : undefined
    if (text === undefined || (dash !== '' && !/^ ?\d+$/.test(text)))
      throw new TypeErrorOf(`strftime_now does not know "${all}"`)
    return dash === '' ? text : text.replace(/^[ 0]+(?=\d)/, '')
  })
}
