// Request bodies against their shapes, and an OpenAPI document of the same shapes.

import { z } from 'zod'
import { issueText, type SchemaIssue } from '../../protocol/issue-text.ts'

/** The body as its shape reads it. Throws what `refuse` makes of the first mistake. */
export function checkBody<Body>(
  shape: z.ZodType<Body>,
  body: unknown,
  refuse: (message: string, hint?: string) => Error,
): Body {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw refuse('the request must be a JSON object')
  const read = shape.safeParse(body)
  if (read.success) return read.data
  const [issue] = read.error.issues
  const path = issue!.path.join('.')
  if (issue!.code === 'unrecognized_keys') {
    const said = `there is no field "${issue!.keys[0]!.slice(0, 64)}"`
    throw path === '' ? refuse(said, fieldsOf(shape)) : refuse(`${said} in "${path}"`)
  }
  throw refuse(`"${path}" ${issueText(issue as SchemaIssue)}`)
}

function fieldsOf(shape: z.ZodType): string {
  const names = Object.keys((shape as { shape?: object }).shape ?? {})
  return names.length > 0 ? `Fields: ${names.join(', ')}.` : 'This request has no fields.'
}

/** One route, as the document says it. Fields in braces in its path are texts. */
export interface Operation {
  method: 'get' | 'post'
  path: string
  summary: string
  query?: z.ZodObject
  body?: z.ZodType
  /** Of an answer with status 200, or the media type of one that is no JSON. One alone: clients are typed by it. */
  answer: z.ZodType | string
  /** Needs no token. */
  open?: boolean
}

interface ApiOptions {
  title: string
  description: string
  version: string
  /** The body of an answer that is not 200. */
  error: z.ZodType
}

/** An OpenAPI 3.1 document, as data. */
export function openApi(
  { title, description, version, error }: ApiOptions,
  operations: readonly Operation[],
): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const operation of operations)
    paths[operation.path] = { ...paths[operation.path], [operation.method]: described(operation) }
  return {
    openapi: '3.1.0',
    info: { title, description, version, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: '/' }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: jsonSchema(error, 'output') },
    },
  }
}

function described({ method, path, summary, query, body, answer, open }: Operation): object {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    ...{ name, in: 'path', required: true, schema: { type: 'string' } },
  }))
  const inQuery = Object.entries(query?.shape ?? {}).map(([name, schema]) => {
    const { description, ...rest } = jsonSchema(schema as z.ZodType, 'input') as { description?: string }
    const required = !(schema as z.ZodType).safeParse(undefined).success
    return { name, in: 'query', required, ...(description ? { description } : {}), schema: rest }
  })
  const content =
    typeof answer === 'string'
      ? { [answer]: { schema: { type: 'string' } } }
      : { 'application/json': { schema: jsonSchema(answer, 'output') } }
  return {
    operationId: `${method}${path.replaceAll(/[^\w]+(\w?)/g, (_, letter: string) => letter.toUpperCase())}`,
    summary,
    ...(open ? { security: [] } : {}),
    parameters: [...inPath, ...inQuery],
    ...(body
      ? {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: jsonSchema(body, 'input') } },
          },
        }
      : {}),
    responses: {
      200: { description: 'done', content },
      default: {
        description: 'an error',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
  }
}

export function jsonSchema(shape: z.ZodType, io: 'input' | 'output'): object {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, { io, unrepresentable: 'any' })
  return schema
}
