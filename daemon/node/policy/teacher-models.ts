// Models that only teach. Each is frozen, has an engine of its own and is kept as its file has it. What they take is known
// before any weights are read, so that the memory plan has room for them.

import { basename } from 'node:path'
import type { Phases } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import type { Asked } from '../../../protocol/train/index.ts'
import { NO_ADAPTER } from '../../engine/decoder.ts'
import type { Engine } from '../../engine/engine.ts'
import { bytesIn } from '../../policy/files/base-weights.ts'
import { endingWith, type OtherModel } from '../../policy/live-policy.ts'
import { promptTokens, TEACHER_ENGINE, teacherMemory } from '../../policy/memory-plan/index.ts'
import { describeModel, loadModelAs, type Model, type StoredModel } from '../../policy/model.ts'
import type { FoundModel } from '../../policy/sources/find.ts'
import { sharedTokens } from '../../policy/tokens/same-tokens.ts'
import type { Disk } from '../../store/disk.ts'
import { sizeOf, WEIGHT_FILES, watchedDisk } from '../../store/watched-disk.ts'

export interface FoundTeacher {
  /** As the plugin names it. */
  name: string
  directory: string
  /** Of its weights and its engine. */
  bytes: number
}

export interface TeacherModel {
  name: string
  model: StoredModel
}

/** How weights are kept: quantized and 16-bit matrices as in the file. */
const PRECISION = 'file'

/** Throws E_MODEL, with the teacher's name, if one is not there or is no model. */
export async function findTeachers(
  {
    names,
    questions,
    completion,
  }: { names: readonly string[]; questions: readonly Asked[]; completion: number },
  { find, disk }: { find(reference: string): Promise<FoundModel>; disk: Disk },
): Promise<FoundTeacher[]> {
  const found: FoundTeacher[] = []
  for (const name of names) {
    try {
      const { directory } = await find(name)
      const { spec, tokenizer, tensors } = await describeModel(directory, { disk })
      const prompt = promptTokens(questions, tokenizer)
      const bytes = teacherMemory(spec, { base: bytesIn(tensors, spec, PRECISION), prompt, completion })
      found.push({ name, directory, bytes })
    } catch (cause) {
      if (!(cause instanceof WaggleError)) throw cause
      throw new WaggleError(cause.code, `the teacher "${name}" cannot be used: ${cause.message}`, {
        hint: `${cause.hint ?? ''} A teacher is peers, begin, example, checkpoint/<name>, a server's address, or a model as model.path takes it.`.trim(),
        cause,
      })
    }
  }
  return found
}

export async function loadTeacher(
  { name, directory }: FoundTeacher,
  { disk, phases, tell }: { disk: Disk; phases: Pick<Phases, 'run'>; tell(message: string): void },
): Promise<TeacherModel> {
  tell(`loading the teacher ${basename(name)}`)
  const total = await sizeOf(directory, WEIGHT_FILES, { disk })
  const model = await phases.run('load', { unit: 'bytes', total }, (at) =>
    loadModelAs(directory, { disk: watchedDisk(disk, at) }, () => PRECISION),
  )
  return { name, model }
}

/** `stop`: texts that end an answer of a model that has no turns. */
export async function openTeacherModel(
  { model, stop }: { model: StoredModel; stop: readonly string[] },
  { engine, policy }: { engine: Engine; policy: Pick<Model, 'tokenizer' | 'spec'> },
): Promise<OtherModel> {
  const { spec, tokenizer } = model
  const ends = tokenizer.hasChatTemplate ? [] : stop
  const pieces = ends.length > 0 ? { pieces: tokenizer.pieces(spec.vocabulary) } : {}
  await engine.open({ spec: { ...spec, adapter: NO_ADAPTER }, weights: model.weights, ...pieces })
  const { generate } = endingWith(engine, ends)
  return {
    score: (request) => engine.score(request),
    generate: (request, options) => generate({ slots: TEACHER_ENGINE.slots, ...request }, options),
    own: {
      ...{ tokenizer, stop: tokenizer.endOfTurn(), contextLength: spec.contextLength },
      shared: sharedTokens(policy, model),
    },
  }
}
