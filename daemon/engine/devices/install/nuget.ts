// Finds ONNX Runtime's package and its digest on a NuGet feed (protocol 3). The feed's index gives the base address of
// packages and a registry, whose entry for each version holds the package's hash.

import { WaggleError } from '../../../../protocol/errors.ts'

export const NUGET = 'https://api.nuget.org/v3/index.json'

export interface PackageSource {
  url: string
  /** Base64. */
  digest: { algorithm: 'sha512' | 'sha256'; value: string }
}

type Fetch = typeof globalThis.fetch

const TIMEOUT_MS = 30_000
const LARGEST_ANSWER = 16 << 20

export async function findPackage(
  { index, name, version }: { index: string; name: string; version: string },
  { fetch }: { fetch: Fetch },
): Promise<PackageSource> {
  const feed = (await json(index, fetch)) as { resources?: { '@type'?: string; '@id'?: string }[] }
  const address = (type: string): string => {
    const found = feed.resources?.find((resource) => resource['@type'] === type)?.['@id']
    if (!found) throw unusable(index, `it has no ${type}`)
    return found.endsWith('/') ? found : `${found}/`
  }
  const id = name.toLowerCase()
  const file = `${id}.${version}.nupkg`
  const leaf = (await json(`${address('RegistrationsBaseUrl/3.6.0')}${id}/${version}.json`, fetch)) as {
    catalogEntry?: unknown
  }
  if (typeof leaf.catalogEntry !== 'string') throw unusable(index, `it has no entry for ${name} ${version}`)
  const entry = (await json(leaf.catalogEntry, fetch)) as {
    packageHash?: unknown
    packageHashAlgorithm?: unknown
  }
  const algorithm = String(entry.packageHashAlgorithm).toLowerCase()
  if (typeof entry.packageHash !== 'string' || (algorithm !== 'sha512' && algorithm !== 'sha256'))
    throw unusable(index, `it has no digest for ${name} ${version}`)
  return {
    url: `${address('PackageBaseAddress/3.0.0')}${id}/${version}/${file}`,
    digest: { algorithm, value: entry.packageHash },
  }
}

async function json(url: string, fetch: Fetch): Promise<unknown> {
  let text: string
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    if (!answer.ok) throw new Error(`status ${answer.status}`)
    text = await answer.text()
  } catch (cause) {
    throw unreachable(url, cause)
  }
  try {
    if (text.length > LARGEST_ANSWER) throw new Error('it is too long')
    return JSON.parse(text)
  } catch (cause) {
    throw unusable(url, `its answer is not JSON: ${(cause as Error).message}`)
  }
}

export function unreachable(url: string, cause: unknown): WaggleError {
  const { message, cause: inner } = cause as Error & { cause?: { code?: string } }
  return new WaggleError('E_ENGINE', `cannot fetch ${url}: ${inner?.code ?? message}`, {
    hint: 'Check the network, or download the package on another machine and pass it with --from FILE.',
    cause,
  })
}

function unusable(url: string, why: string): WaggleError {
  return new WaggleError('E_ENGINE', `${url} is not a usable NuGet feed: ${why}`, {
    hint: 'Name another feed with --from URL, or pass the package itself with --from FILE.',
  })
}
