// Parses `model.path` and --model: the bundled model, a path, or a name on the hub.

import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'

export interface HubReference {
  /** `org/name`. */
  name: string
  /** A branch, a tag or a commit. */
  revision: string
}

type ModelReference =
  | { kind: 'bundled' }
  | { kind: 'directory'; path: string }
  | { kind: 'hub'; hub: HubReference }

const PART = '[A-Za-z0-9][A-Za-z0-9._-]{0,95}'
const NAME = new RegExp(`^${PART}/${PART}$`)
const REVISION = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$/

/** `org/name[@revision]` is a name on the hub, unless that path exists. `isThere` is only called for such names. */
export function parseReference(text: string, isThere: (path: string) => boolean): ModelReference {
  if (text === 'default') return { kind: 'bundled' }
  const hub = hubReference(text)
  return hub === undefined || isThere(text) ? { kind: 'directory', path: text } : { kind: 'hub', hub }
}

/** Undefined for text that cannot be a name on the hub. */
export function hubReference(text: string): HubReference | undefined {
  const at = text.indexOf('@')
  const [name, revision] = at < 0 ? [text, 'main'] : [text.slice(0, at), text.slice(at + 1)]
  if (!NAME.test(name) || /--|\.\./.test(name)) return undefined
  if (!REVISION.test(revision) || revision.split('/').some((part) => part === '' || /^\.+$/.test(part))) {
    throw new WaggleError('E_MODEL', `"${safeText(revision, { limit: 80, line: true })}" is no revision`, {
      hint: 'Write org/name@revision, where the revision is a branch, a tag or a commit.',
    })
  }
  return { name, revision }
}

export function showReference({ name, revision }: HubReference): string {
  return revision === 'main' ? name : `${name}@${revision}`
}

/** The name on the hub, if the recorded name is one; undefined for a folder. */
export function hubNameOf(name: string): string | undefined {
  try {
    return name.startsWith('/') ? undefined : hubReference(name)?.name
  } catch {
    return undefined
  }
}
