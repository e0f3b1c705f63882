// The files of a new plugin, from the template of its kind.

import { PLACES } from '../../host/load.ts'
import { TEMPLATES } from './templates.ts'

interface ScaffoldOptions {
  kind: string
  name: string
  /** Node.js options for running its test. */
  nodeOptions: string
}

/** File name -> content. */
export function scaffold({ kind, name, nodeOptions }: ScaffoldOptions): Record<string, string> {
  return {
    [`${name}.ts`]: pluginText(kind, name),
    [`${name}.test.ts`]: testText(kind, name),
    'package.json': `${JSON.stringify(
      {
        name: `waggle-plugin-${name.replaceAll('_', '-')}`,
        version: '0.1.0',
        type: 'module',
        exports: `./${name}.ts`,
        scripts: { test: `node ${nodeOptions}--test`.replace(/ +/g, ' ') },
        peerDependencies: { waggle: '*' },
      },
      null,
      2,
    )}\n`,
  }
}

function pluginText(kind: string, name: string): string {
  const { summary, settings, manifest, imports = [], group, takes, body } = TEMPLATES[kind]!
  const names = ['definePlugin', ...imports].sort((a, b) => plain(a).localeCompare(plain(b)))
  return `// ${summary}

import { ${names.join(', ')} } from 'waggle/plugin'
${group ? "import type { Group } from 'waggle/protocol'\n" : ''}import { z } from 'zod'

export default definePlugin({
  name: '${name}',
  kind: '${kind}',
  api: 1,
  summary: '${summary}',
  settings: z.strictObject({${settings === '' ? '' : `\n    ${settings}\n  `}}),${manifest ? `\n  manifest: { ${manifest.replace(/,$/, '')} },` : ''}
  create(${takes === '' ? '' : `{ ${takes} }`}) {
${indented(body, 4)}
  },
})
`
}

function testText(kind: string, name: string): string {
  const { summary, test, testImports = [] } = TEMPLATES[kind]!
  const usesContext = test.includes('context')
  const sentence = summary.replace(/\.$/, '').replace(/^./, (letter) => letter.toLowerCase())
  return `import assert from 'node:assert/strict'
import { test } from 'node:test'
${testImports.length > 0 ? `import { ${testImports.join(', ')} } from 'waggle/plugin'\n` : ''}import { conformance, ${usesContext ? 'createScriptedContext, ' : ''}withSettings } from 'waggle/plugin/testing'
import plugin from './${name}.ts'

// The tests that every plugin must pass.
for (const { name, run } of conformance(plugin)) test(name, run)

test('${sentence}', async () => {
  const hooks = withSettings(plugin)
${usesContext ? '  const context = createScriptedContext()\n' : ''}${indented(test, 2)}
})
`
}

/** The lines of the config that use the plugin. */
export function configLines(kind: string, use: string): string[] {
  const place = PLACES[kind as keyof typeof PLACES]
  const isOne = place === 'estimator' || place === 'selector'
  return [isOne ? `[${place}]` : `[[${place}]]`, `use = ${JSON.stringify(use)}`]
}

const plain = (name: string): string => name.replace(/^type /, '')

const indented = (text: string, spaces: number): string =>
  text
    .split('\n')
    .map((line) => (line === '' ? '' : ' '.repeat(spaces) + line))
    .join('\n')
