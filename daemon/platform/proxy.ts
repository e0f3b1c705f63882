// Downloads obey HTTPS_PROXY and NO_PROXY, which Node.js ignores unless it is told to. Plain HTTP stays direct: it goes to
// this machine and this network, such as to samplers, environments and the router.

import http from 'node:http'

const PLAIN = ['http_proxy', 'HTTP_PROXY']

/** Returns what to tell the user, if this Node.js cannot do it. To be called before anything is fetched. */
export function obeyProxy(env: NodeJS.ProcessEnv): string | undefined {
  const proxy = env.https_proxy || env.HTTPS_PROXY
  if (!proxy || env.NODE_USE_ENV_PROXY !== undefined) return undefined
  if (typeof http.setGlobalProxyFromEnv !== 'function')
    return `HTTPS_PROXY is not used: Node.js ${process.versions.node} needs NODE_USE_ENV_PROXY=1 beside it`
  const except = env.no_proxy || env.NO_PROXY
  // `fetch` reads HTTP_PROXY from the environment when the proxy is set, even if it is told that there is none.
  const plain = PLAIN.map((name) => [name, env[name]] as const)
  for (const name of PLAIN) delete env[name]
  http.setGlobalProxyFromEnv({
    https_proxy: proxy,
    no_proxy: ['localhost,127.0.0.1,::1', ...(except ? [except] : [])].join(','),
  })
  for (const [name, value] of plain) if (value !== undefined) env[name] = value
  return undefined
}
