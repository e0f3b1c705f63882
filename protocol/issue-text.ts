// What one issue of a schema says to a person: `must be a whole number`. For the config and for request bodies.

/** The part of zod's issues that this needs. */
export interface SchemaIssue {
  code: string
  message: string
  path: readonly PropertyKey[]
  expected?: string
  minimum?: number | bigint
  maximum?: number | bigint
  inclusive?: boolean
  origin?: string
  values?: readonly unknown[]
}

const TYPES: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'a string',
  boolean: 'true or false',
  array: 'a list',
  object: 'a table',
  record: 'a table',
}

/** A schema's own message, if it begins with `must`, goes before these. */
export function issueText(issue: SchemaIssue): string {
  if (issue.message.startsWith('must ')) return issue.message
  const unit = issue.origin === 'string' ? ' characters' : issue.origin === 'array' ? ' entries' : ''
  switch (issue.code) {
    case 'invalid_value':
      return `must be one of ${(issue.values ?? []).map(String).join(', ')}`
    case 'invalid_type':
      return `must be ${TYPES[issue.expected ?? ''] ?? issue.expected}`
    case 'too_small':
      return `must be ${issue.inclusive ? 'at least' : 'above'} ${issue.minimum}${unit}`
    case 'too_big':
      return `must be at most ${issue.maximum}${unit}`
    default:
      return issue.message
  }
}
