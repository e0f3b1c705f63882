// A tool server of the Model Context Protocol, over stdin and stdout: it knows what things cost.

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'

const server = new McpServer({ name: 'shop', version: '1.0.0' })
/** A price that nobody can guess, always the same for the same thing. */
const priceOf = (thing) => 10 + ([...thing].reduce((sum, letter) => 31 * sum + letter.charCodeAt(0), 7) % 89)

server.registerTool(
  'price',
  { description: 'Says what a thing costs.', inputSchema: { thing: z.string() } },
  async ({ thing }) => ({ content: [{ type: 'text', text: `${priceOf(thing)} euros` }] }),
)
await server.connect(new StdioServerTransport())
