// An agent on LangChain: a chain of a prompt, the model and a parser simplifies fractions. Its reward has two parts, so the
// estimator GDPO can normalise each.
//
//   node scripts/agents/fractions.mjs 1000        with a node that serves agents; see docs/agents.md

import { StringOutputParser } from '@langchain/core/output_parsers'
import { ChatPromptTemplate } from '@langchain/core/prompts'
import { ChatOpenAI } from '@langchain/openai'
import { train } from './runner.mjs'

function agent({ base_url: baseURL, api_key: apiKey }) {
  const model = new ChatOpenAI({ model: 'waggle', apiKey, configuration: { baseURL } })
  const prompt = ChatPromptTemplate.fromMessages([['user', 'Lowest terms of {fraction}?']])
  return prompt.pipe(model).pipe(new StringOutputParser())
}

const upTo = (most) => 1 + Math.floor(Math.random() * most)
const divisor = (a, b) => (b === 0 ? a : divisor(b, a % b))
let drawn = 0

await train('fractions', Number(process.argv[2] ?? 1000), {
  draw() {
    const [a, b, factor] = [upTo(9), 1 + upTo(8), 1 + upTo(4)]
    return { id: `fraction ${Date.now()} ${drawn++}`, above: a * factor, below: b * factor }
  },
  async attempt(rollout, { above, below }) {
    const text = await agent(rollout).invoke({ fraction: `${above}/${below}` })
    const most = divisor(above, below)
    const right = text.includes(`<answer>${above / most}/${below / most}</answer>`) ? 1 : 0
    const form = /<answer>\d+\/\d+<\/answer>/.test(text) ? 1 : 0
    return { value: 0.8 * right + 0.2 * form, parts: { right, form } }
  },
})
