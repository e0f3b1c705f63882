// What a backup holds: what a node cannot make again. Not in it are logs, caches, models, and files that the config names.

import { z } from 'zod'
import { PARTIAL } from '../atomic.ts'

/** Newest state last, as a killed node leaves it: the databases may be ahead of the checkpoints, never behind. */
export const FOLDERS = ['checkpoints', 'audits', 'runs', 'plugins'] as const
export const DATABASES = ['store', 'peers'] as const
export const FILES = [
  'swarm.json',
  'control-read.token',
  'control-admin.token',
  'agents.token',
  'serve.key',
  'identity.id',
  'identity.key',
] as const
export const CONFIG = 'config.toml'

/** All in a state folder that a backup replaces, and notes beside the databases that belong to the old ones. */
export const IN_STATE: readonly string[] = [
  ...FOLDERS,
  ...DATABASES,
  ...DATABASES.map((name) => `${name}.sizes`),
  ...FILES,
]

/** The last file of the archive. */
export const MANIFEST = 'waggle-backup.json'
export const FORMAT = 1

/** It is shown. */
export const PRINTABLE = /^[ -~]{1,256}$/

export const manifestShape = z.strictObject({
  v: z.literal(FORMAT),
  /** The Waggle that wrote it. */
  program: z.string().max(64),
  /** ms since the epoch, as far as dates go. */
  time: z.number().min(0).max(8.64e15),
  peerId: z.string().regex(PRINTABLE).optional(),
  /** What was found to be damaged, and is in it as it was. */
  damaged: z.array(z.enum(DATABASES)),
  files: z.record(
    z.string(),
    z.strictObject({ bytes: z.int().min(0), sha256: z.string().regex(/^[0-9a-f]{64}$/) }),
  ),
})
export type BackupManifest = z.infer<typeof manifestShape>

/** Whether this program puts files of this name into a backup. Names come from an archive that anyone may have made. */
export function isContent(name: string): boolean {
  const [first = '', ...rest] = name.split('/')
  const holds = rest.length > 0 ? [...FOLDERS, ...DATABASES] : [...FILES, CONFIG]
  const isPlain = (part: string): boolean => !/^\.{0,2}$|[\\:\0-\u001f]/.test(part) && !part.endsWith(PARTIAL)
  return (holds as readonly string[]).includes(first) && rest.every(isPlain)
}
