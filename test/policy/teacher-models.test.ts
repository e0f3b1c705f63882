import { expect, test } from 'vitest'
import { parameterCount } from '../../daemon/engine/decoder.ts'
import { findTeachers } from '../../daemon/node/policy/teacher-models.ts'
import { describeModel } from '../../daemon/policy/model.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'

const find = async (directory: string) => ({ directory, name: directory })
const asked = { questions: [{ question: 'why' }], completion: 96 }

test('what a teacher takes is known before its weights are read: these, and what its engine needs', async () => {
  const [found] = await findTeachers({ names: ['models/default'], ...asked }, { find, disk })
  const weights = 4 * parameterCount((await describeModel('models/default', { disk })).spec)
  expect(found!.bytes).toBeGreaterThan(weights)
  expect(found!.bytes).toBeLessThan(weights + 500e6)
})

test('a teacher that is not there is named, with what can teach', async () => {
  await expect(findTeachers({ names: ['models/none.gguf'], ...asked }, { find, disk })).rejects.toThrow(
    expect.objectContaining({
      code: 'E_MODEL',
      message: expect.stringMatching(/^the teacher "models\/none.gguf" cannot be used: .*none.gguf/),
      hint: expect.stringMatching(/A teacher is peers, begin/),
    }),
  )
})
