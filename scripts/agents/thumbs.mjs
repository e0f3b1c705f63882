// A user who gives a thumb for each answer, up for those of one line: the plain OpenAI client asks a node that keeps served
// answers (agents.learn = "feedback"), and the share of such answers is measured on other questions before and after.
//
//   node scripts/agents/thumbs.mjs http://127.0.0.1:4390 KEY [ratings=400] [measured=100] [seed=1] [sums|words] [short|chance|verifier]
//
// With `chance` the thumbs say nothing. With `verifier` there are none: for two minutes, the node (agents.verifier) asks the
// same questions again. The node: see "Learning from use" in docs/serving.md. The last line is the record.

import OpenAI from 'openai'

const [url, apiKey, ratings = 400, measured = 100, seed = 1, kind = 'sums', rule = 'short'] = process.argv.slice(2)
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey })
const AT_ONCE = 8

/** Numbers from 0 to 1 (mulberry32). */
function randomOf(start) {
  let state = start >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const THINGS = 'a bridge,a lemon,a clock,a river,an engine,a violin,a bee,a desert,a ladder,a map,a kettle,a whale,a candle,a market,a glacier,a hammer,a forest,a mirror,a train,a pillow'.split(',')
const WAYS = ['What is X?', 'Tell me about X.', 'What is X good for?', 'Describe X.', 'Say something about X.']

/** Questions in two halves: even ones are rated, odd ones measured. */
function question(random, isMeasured) {
  const draw = (count) => 2 * Math.floor((random() * count) / 2) + (isMeasured ? 1 : 0)
  if (kind === 'words') return WAYS[Math.floor(random() * WAYS.length)].replace('X', THINGS[draw(THINGS.length)])
  return `Work out ${draw(20)} + ${Math.floor(random() * 20)}`
}

const isShort = (text) => (kind === 'words' ? text.length <= 120 : !text.trim().includes('\n'))

async function ask(content) {
  const { id, choices } = await client.chat.completions.create({
    ...{ model: 'waggle', messages: [{ role: 'user', content }] },
    ...(kind === 'words' ? { max_tokens: 96 } : {}),
  })
  return { id, text: choices[0].message.content }
}

async function rate({ id, text }, isUp) {
  const response = await fetch(`${url}/v1/feedback`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ id, reward: isUp(text) ? 'up' : 'down' }),
  })
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()).state
}

/** Does `work` so many times, some side by side. */
async function times(count, work) {
  const results = []
  let begun = 0
  const worker = async () => {
    while (begun < count) {
      begun += 1
      results.push(await work())
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return results
}

async function measure() {
  const random = randomOf(9000 + Number(seed))
  const answers = await times(Number(measured), () => ask(question(random, true)))
  const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length
  return {
    short: mean(answers.map(({ text }) => Number(isShort(text)))),
    characters: mean(answers.map(({ text }) => text.length)),
  }
}

const began = Date.now()
const before = await measure()
console.log('before', before)
const random = randomOf(Number(seed))
const states = {}
let done = 0
await times(Number(ratings), async () => {
  const answer = await ask(question(random, false))
  if (rule === 'verifier') return
  const state = await rate(answer, rule === 'chance' ? () => random() < 0.5 : isShort)
  states[state] = (states[state] ?? 0) + 1
  done += 1
  if (done % 50 === 0) console.log(`${done} rated in ${Math.round((Date.now() - began) / 1000)} s`, states)
})
if (rule === 'verifier') await new Promise((resolve) => setTimeout(resolve, 120_000))
const after = await measure()
const minutes = (Date.now() - began) / 60_000
console.log(JSON.stringify({ kind, rule, seed: Number(seed), ratings: Number(ratings), measured: Number(measured), before, after, minutes: Number(minutes.toFixed(1)) }))
