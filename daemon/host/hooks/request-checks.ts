// Checks of the work that `extend` hooks request. Each check throws if a request is invalid.

import type { Request } from '../../../protocol/plugin/index.ts'
import { promptKey } from '../../../protocol/train/index.ts'
import { checkAsk } from '../checks.ts'
import { checkGroups } from '../group-checks.ts'

/** `known`: ids that the plugin has already used in this round. Adds the ids of these requests to it. */
export function checkRequests(requests: Request[], known: Set<string>): Request[] {
  if (!Array.isArray(requests)) throw new Error('did not return a list of requests')
  for (const request of requests) {
    checkAsk(request)
    if (typeof request.id !== 'string' || request.id === '' || known.has(request.id))
      throw new Error(`gave a request the id ${JSON.stringify(request.id)}, which is none or was used`)
    known.add(request.id)
    if (request.keep !== 'train' && request.keep !== 'probe')
      throw new Error(`keeps a request for ${JSON.stringify(request.keep)}; it is "train" or "probe"`)
    checkPrefix(request)
  }
  return requests
}

function checkPrefix({ prefix, prompt, rewrite }: Request): void {
  if (prefix === undefined) return
  const { group, rollout, length } = prefix
  if (rewrite) throw new Error('continues a rollout under a rewrite, and not under what it was written under')
  checkGroups([group])
  if (promptKey(group.prompt) !== promptKey(prompt))
    throw new Error(`continues a rollout of ${promptKey(group.prompt)} for ${promptKey(prompt)}`)
  const source = group.rollouts[rollout]
  if (!source) throw new Error(`continues rollout ${rollout} of a group of ${group.rollouts.length}`)
  const { tokens, turns } = source
  if (!Number.isInteger(length) || length < 1 || length >= tokens.length)
    throw new Error(`continues ${length} of ${tokens.length} tokens of a rollout`)
  if (turns && !turns.some(({ start, length: said }) => start <= length && length < start + said))
    throw new Error(`continues an episode at token ${length}, which is not of an answer`)
}
