// waggle schema: a contract for programs, as JSON: the config's schema, or the OpenAPI document of an API. They are made
// of the shapes that the node itself checks with. No node is needed; a running one serves its own.

import { VERSION } from '../../../protocol/package.ts'
import { gatewayApi } from '../../agents/index.ts'
import { configJsonSchema } from '../../config/json-schema.ts'
import { controlApi } from '../../control/api/openapi.ts'
import type { Context } from '../contract.ts'

export async function run(context: Context): Promise<number> {
  const [what] = context.arguments as ['config' | 'control' | 'gateway']
  const schema = {
    config: configJsonSchema,
    control: () => controlApi(VERSION),
    gateway: gatewayApi,
  }[what]()
  context.out(JSON.stringify(schema, null, 2))
  return 0
}
