// Token ids in, token ids out, in the shape of vLLM's /inference/v1/generate.

import type { Call } from '../book/rollout.ts'
import { invalid } from '../errors.ts'
import { tokensIn } from './completions.ts'
import {
  type Body,
  type Dialect,
  type DialectOptions,
  type DialectParts,
  finishOf,
  logprobsOf,
  recordOf,
} from './dialect.ts'
import { GUIDES } from './request/format.ts'
import { booleanIn, objectOf } from './request/objects.ts'
import { NO_TOOLS } from './request/offered.ts'
import { wantedIn } from './request/wanted.ts'
import { ignoredWishes, limitIn, type Rule, samplingIn, stopIn } from './request/wishes.ts'

const FIELDS: Record<string, Rule> = { token_ids: 'read', sampling_params: 'read' }
const SAMPLING: Record<string, Rule> = {
  ...GUIDES,
  ...{ max_tokens: 'read', stop: 'read', logprobs: 'read', output_kind: 'read' },
  ...{ detokenize: 'read', skip_special_tokens: 'read' },
}

export function createGenerate(options: DialectOptions, { tokenizer, onUnkept }: DialectParts): Dialect {
  return (body: Body) => {
    const prompt = tokensIn(body.token_ids, '"token_ids" must be a list of token ids')
    const sampling = objectOf(body.sampling_params ?? {}, '"sampling_params"')
    const wanted = wantedIn(sampling, NO_TOOLS, { ...options, format: undefined })
    const ignored = [
      ...ignoredWishes(body, FIELDS, options),
      ...ignoredWishes(sampling, SAMPLING, options, wanted.ignored),
    ]
    if (booleanIn(body, 'stream'))
      throw invalid('generate does not stream', 'Leave "stream" out, or use /completions.')
    const answer = (call: Call): object => ({
      request_id: typeof body.request_id === 'string' ? body.request_id.slice(0, 128) : `generate-${call.id}`,
      choices: [
        {
          index: 0,
          token_ids: [...call.sample.tokens],
          logprobs:
            sampling.logprobs === undefined || sampling.logprobs === null
              ? null
              : logprobsOf(call, tokenizer),
          finish_reason: finishOf(call),
        },
      ],
      prompt_logprobs: null,
      ...recordOf(call, body),
    })
    return {
      ignored,
      stream: false,
      make() {
        onUnkept?.(ignored)
        return {
          prompt,
          ...wanted.request({}, onUnkept),
          stop: stopIn(sampling),
          maxNewTokens: limitIn(sampling, 'max_tokens'),
          sampling: samplingIn(sampling, options),
        }
      },
      answer,
      async *events(attempt) {
        yield { data: answer(await attempt.done) }
      },
    }
  }
}
