// exact: the answer's text, ignoring white space and, if configured, case. With a list of answers, any one of
// them is right.

import { MAX_TEXT_CHARS, plainText } from './plain-text.ts'
import { Fault, flag, textsOf, type Verifier } from './verifier.ts'

export const exact: Verifier = {
  name: 'exact',
  summary:
    'The same text; runs of white space count as one. Of a list, any one. `ignore_case` takes either case',
  keys: ['ignore_case'],
  settings: (given) => ({ ignore_case: flag(given, 'ignore_case') }),
  key(answer) {
    const texts = textsOf(answer)
    if (texts.length === 0) throw new Fault('"answer" is an empty list; name at least one right answer')
    for (const text of texts) {
      if (plainText(text, false) === '') throw new Fault('"answer" is empty')
      if (text.length > MAX_TEXT_CHARS) throw new Fault(`"answer" has more than ${MAX_TEXT_CHARS} characters`)
    }
    return texts[0]
  },
  accepts(text, answer, { ignore_case }) {
    if (text.length > MAX_TEXT_CHARS) return false
    const given = plainText(text, ignore_case === true)
    return textsOf(answer).some((right) => plainText(right, ignore_case === true) === given)
  },
}
