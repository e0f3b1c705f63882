import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { prometheusText } from '../../daemon/control/api/prometheus.ts'
import { createScriptedNode } from '../control/scripted-node.ts'
import { ROOT } from './blocks.ts'

test('files for services are accepted by the programs that they are for, where these are installed', () => {
  const { status, stdout } = spawnSync(join(ROOT, 'scripts/service/check.sh'), { encoding: 'utf8' })
  expect(stdout).toContain('Prometheus configuration')
  expect({ status, stdout }).toMatchObject({ status: 0 })
})

const hasPromtool = spawnSync('promtool', ['--version']).status === 0

test.skipIf(!hasPromtool)('metrics are accepted by promtool', () => {
  const node = createScriptedNode()
  node.advance(60)
  const { stdout, stderr, status } = spawnSync('promtool', ['check', 'metrics'], {
    input: prometheusText(node.snapshot()),
    encoding: 'utf8',
  })
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' })
})
