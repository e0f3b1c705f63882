import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from './blocks.ts'

test('files for services are accepted by the programs that they are for, where these are installed', () => {
  const { status, stdout } = spawnSync(join(ROOT, 'scripts/service/check.sh'), { encoding: 'utf8' })
  expect(stdout).toContain('Prometheus configuration')
  expect({ status, stdout }).toMatchObject({ status: 0 })
})
