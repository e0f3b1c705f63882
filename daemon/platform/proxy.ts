// Downloads obey HTTPS_PROXY and NO_PROXY, which Node.js ignores unless it is told to. Plain HTTP stays direct: it goes to
// this machine and this network, such as to samplers, environments and the router.

import http from 'node:http'

/** Returns what to tell the user, if this Node.js cannot do it. To be called before anything is fetched. */
export function obeyProxy(env: NodeJS.ProcessEnv): string | undefined {
  const proxy = env.https_proxy || env.HTTPS_PROXY
  if (!proxy || env.NODE_USE_ENV_PROXY !== undefined) return undefined
  if (typeof http.setGlobalProxyFromEnv !== 'function')
    return `HTTPS_PROXY is not used: Node.js ${process.versions.node} needs NODE_USE_ENV_PROXY=1 beside it`
  const except = env.no_proxy || env.NO_PROXY
  // Otherwise Node.js would read HTTP_PROXY from the environment.
  http.setGlobalProxyFromEnv({
    http_proxy: '',
    https_proxy: proxy,
    no_proxy: ['localhost,127.0.0.1,::1', ...(except ? [except] : [])].join(','),
  })
  return undefined
}
