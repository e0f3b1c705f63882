// Records what a node of this version sends to another, so that later versions can be tested with it:
//   node --import tsx scripts/wire/record-session.ts
// Writes test/swarm/interop/sessions/<major>.<minor>.json. Run it once before raising the minor version; recordings
// never change.

import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RPC } from '@libp2p/gossipsub/message'
import { groupsTopic } from '../../daemon/swarm/gossip/config.ts'
import {
  BULK_PROTOCOL,
  decodeFetch,
  decodeHeadRequest,
  decodeReceiptRequest,
  encodeBulkRequest,
  encodeFetch,
  encodeHead,
  encodeHeadRequest,
  encodeHello,
  encodeReceipt,
  encodeReceiptRequest,
  encodeState,
  encodeStateRequest,
  FETCH_PROTOCOL,
  HEAD_PROTOCOL,
  HELLO_PROTOCOL,
  joinHashes,
  KIND,
  MAJOR,
  MINOR,
  openFrame,
  RECEIPT_PROTOCOL,
  STATE_PROTOCOL,
} from '../../protocol/wire/index.ts'
import { newReceipt as described } from '../../test/protocol/wire/receipts.ts'
import { draft, freshIdentity, startNode, stopNodes, sums, until } from '../../test/swarm/helpers.ts'
import {
  GOSSIP,
  hex,
  recordedIdentity,
  type Session,
  startParty,
  unhex,
} from '../../test/swarm/interop/session.ts'

const home = mkdtempSync(join(tmpdir(), 'waggle-session-'))
const tasks = [{ name: sums.name, version: sums.version }]
const missing = 'ab'.repeat(32)
const file = Buffer.from('what one node has and another wants\n'.repeat(20))
const path = join(home, 'file')
writeFileSync(path, file)

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const facts = {
  ...{ lineage: 'ab'.repeat(32), version: 12, own: 40, foreign: 90 },
  tasks: [{ name: sums.name, difficulty: 2, accuracy: 0.375 }],
}
const weights = { own: Buffer.alloc(300, 'own weights '), others: Buffer.alloc(300, 'others’ weights ') }
const partys = freshIdentity()

const party = await startParty(
  {
    [HELLO_PROTOCOL]: () => [encodeHello({ swarm: 'test', tasks, contacts: [] })],
    [FETCH_PROTOCOL]: (question) =>
      'list' in decodeFetch(question) ? [joinHashes([missing])] : [new Uint8Array(0)],
    [STATE_PROTOCOL]: () => [encodeState(new TextEncoder().encode('what another knows'))],
    [HEAD_PROTOCOL](question) {
      if (!('lineage' in decodeHeadRequest(question))) return [weights.others]
      const about = {
        hash: sha256(weights.others),
        size: weights.others.length,
        createdAt: Date.now(),
        age: 4500,
      }
      return [encodeHead({ ...facts, ...about }, partys.signer)]
    },
    [RECEIPT_PROTOCOL]: (question) => [
      'lineage' in decodeReceiptRequest(question)
        ? encodeReceipt({ ...described, createdAt: Date.now() }, partys.signer)
        : weights.others,
    ],
  },
  { identity: partys },
)
const plugin = { name: 'skill/book', version: 1 }
const states = {
  wanted: () => [plugin],
  own: () => new TextEncoder().encode('what this one knows'),
  received: () => {},
}
const recorded = await startNode(
  { tasks, maxCompletionTokens: 50_000, stateMinutes: 1 / 600 },
  { states, identity: recordedIdentity() },
)
const recordedAt = Date.now()
await recorded.swarm.join(party.address)
const topic = groupsTopic('test')
await party.say(RPC.encode({ subscriptions: [{ subscribe: true, topic }], messages: [] }))
await until('gossip', () => recorded.swarm.peers().some((peer) => peer.mesh))
await until('its question', () => party.heard[FETCH_PROTOCOL]!.length >= 2)

await recorded.swarm.publish(draft(1))
await recorded.swarm.publish(draft(2, { salt: 'x'.repeat(4300) }))
const frames = () =>
  party.heard[GOSSIP]!.flatMap((rpc) => RPC.decode(unhex(rpc)).messages).map(({ data }) =>
    openFrame(data!, 65_536),
  )
await until('both messages', () => frames().length === 2)
const ofParty = {
  ...{ lineage: facts.lineage, accused: partys.peerId, receipt: missing, size: 300 },
  step: 1,
}
await recorded.swarm.accuse(ofParty, async () => undefined)
await until('its accusation', () => frames().length === 3)
const announced = frames().find(({ kind }) => kind === KIND.announcement)!
const [answer] = await party.ask(HELLO_PROTOCOL, [encodeHello({ swarm: 'test', tasks, contacts: [] })], 1)
const [listed] = await party.ask(
  FETCH_PROTOCOL,
  [encodeFetch({ list: { sinceMs: 60_000, tasks: ['sums'] } })],
  1,
)
const hash = hex(announced.body).match(/64686173685820([0-9a-f]{64})/)![1]!
const got = await party.ask(FETCH_PROTOCOL, [encodeFetch({ get: [hash] })], 2)

const { id } = await recorded.swarm.offer({ path })
const bulk = [encodeBulkRequest({ manifest: id }), encodeBulkRequest({ chunk: 0 })]
const [manifest, chunk] = await party.ask(BULK_PROTOCOL, bulk, 2)
await recorded.swarm
  .download({
    id: missing,
    from: party.node.peerId.toString(),
    path: join(home, 'copy'),
    signal: AbortSignal.timeout(500),
  })
  .catch(() => {})

await until('its question about state', () => party.heard[STATE_PROTOCOL]!.length > 0)
const [state] = await party.ask(STATE_PROTOCOL, [encodeStateRequest(plugin)], 1)

recorded.swarm.heads.offer(facts, weights.own)
const told = await recorded.swarm.heads.ask(partys.peerId, facts.lineage)
await recorded.swarm.heads.fetch(told!, { size: weights.others.length })
const [head] = await party.ask(HEAD_PROTOCOL, [encodeHeadRequest({ lineage: facts.lineage })], 1)
const byHash = encodeHeadRequest({ head: sha256(weights.own), from: 0 })
const [headBytes] = await party.ask(HEAD_PROTOCOL, [byHash], 1)

const { createdAt: _, ...own } = described
recorded.swarm.receipts.tell({ offer: () => own, bytes: async () => weights.own, steps: 1 })
await recorded.swarm.receipts.ask(partys.peerId, facts.lineage)
await recorded.swarm.receipts.fetch(partys.peerId, {
  hash: sha256(weights.others),
  size: weights.others.length,
})
const ask = [{ lineage: facts.lineage }, { bytes: sha256(weights.own), from: 0 }].map(encodeReceiptRequest)
const [receipt] = await party.ask(RECEIPT_PROTOCOL, [ask[0]!], 1)
const [receiptBytes] = await party.ask(RECEIPT_PROTOCOL, [ask[1]!], 1)

const session: Session = {
  minor: MINOR,
  recordedAt,
  file: hex(file),
  hello: { question: party.heard[HELLO_PROTOCOL]![0]!, answer: hex(answer!) },
  rpcs: party.heard[GOSSIP]!,
  fetch: {
    questions: party.heard[FETCH_PROTOCOL]!.slice(0, 2),
    listed: hex(listed!),
    got: got.map(hex),
    hash,
  },
  state: { questions: party.heard[STATE_PROTOCOL]!.slice(0, 1), answer: hex(state!) },
  head: {
    questions: party.heard[HEAD_PROTOCOL]!,
    head: hex(head!),
    bytes: hex(headBytes!),
    asked: hex(weights.others),
  },
  receipt: {
    questions: party.heard[RECEIPT_PROTOCOL]!,
    receipt: hex(receipt!),
    bytes: hex(receiptBytes!),
    asked: hex(weights.others),
  },
  bulk: { questions: party.heard[BULK_PROTOCOL]!.slice(0, 1), manifest: hex(manifest!), chunk: hex(chunk!) },
}
const folder = new URL('../../test/swarm/interop/sessions/', import.meta.url)
writeFileSync(new URL(`${MAJOR}.${MINOR}.json`, folder), `${JSON.stringify(session, null, 2)}\n`)
await party.node.stop()
await stopNodes()
rmSync(home, { recursive: true })
