// G30: what an install brings, how old it is, and whether packing twice makes the same file. Asks the registry about the
// direct dependencies.

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pack, ROOT } from '../package/packed.ts'
import type { Row } from './row.ts'

const [MAX_PACKAGES, MIN_DAYS] = [150, 7]
const json = (file: string) => JSON.parse(readFileSync(join(ROOT, file), 'utf8'))

function days(name: string, version: string): number {
  const { stdout } = spawnSync('npm', ['view', `${name}@${version}`, 'time', '--json'], { encoding: 'utf8' })
  return (Date.now() - Date.parse((JSON.parse(stdout) as Record<string, string>)[version]!)) / 86_400_000
}

function packedHash(): string {
  const folder = mkdtempSync(join(tmpdir(), 'waggle-pack-'))
  try {
    return createHash('sha256')
      .update(readFileSync(pack(folder)))
      .digest('hex')
  } finally {
    rmSync(folder, { recursive: true })
  }
}

export async function packages(): Promise<Row> {
  const locked = Object.entries(json('package-lock.json').packages as Record<string, { dev?: boolean }>)
  const installed = locked.filter(([path, { dev }]) => path !== '' && !dev)
  const direct = Object.entries(json('package.json').dependencies as Record<string, string>)
  const ages = direct.map(([name, version]) => ({ name, days: days(name, version) }))
  const young = ages.filter((one) => !(one.days >= MIN_DAYS)).map(({ name }) => name)
  const hashes = new Set([packedHash(), packedHash()])
  return {
    goal: 'G30',
    tried: `${installed.length} packages that an install brings, ${direct.length} of them direct; packed twice`,
    result:
      `the youngest direct one is ${Math.min(...ages.map((one) => one.days)).toFixed(0)} days old` +
      `${young.length > 0 ? `; too young: ${young.join(', ')}` : ''}; ` +
      `${hashes.size === 1 ? `the same file, ${[...hashes][0]!.slice(0, 12)}` : 'the files differ'}`,
    control: 'none',
    isMet: installed.length <= MAX_PACKAGES && young.length === 0 && hashes.size === 1,
  }
}
