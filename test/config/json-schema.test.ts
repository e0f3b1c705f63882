import { expect, test } from 'vitest'
import { configJsonSchema } from '../../daemon/config/json-schema.ts'
import { configKeys } from '../../daemon/config/keys.ts'

interface Schema {
  properties?: Record<string, Schema>
  description?: string
}

test('the JSON schema of the config has every key, with its description', () => {
  for (const { path, description } of configKeys()) {
    const at = path.split('.').reduce<Schema>((schema, name) => schema.properties![name]!, configJsonSchema())
    expect(at.description, path).toBe(description || undefined)
  }
})

test('its patterns are ones that Rust, and so Taplo, reads', () => {
  const patterns: string[] = []
  JSON.stringify(configJsonSchema(), (key, value) => {
    if (key === 'pattern') patterns.push(value)
    return value
  })
  expect(patterns.length).toBeGreaterThan(5)
  // No look-around, and no bare bracket within a class.
  for (const pattern of patterns) expect(pattern.replaceAll(/\\./g, '')).not.toMatch(/\(\?[=!<]|\[[^\]]*\[/)
})
