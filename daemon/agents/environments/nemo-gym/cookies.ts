// The cookies of one session with a server: sends back what the server set last.

interface Cookies {
  take(headers: Headers): void
  header(): Record<string, string>
}

const MAX_COOKIES = 16
const LONGEST = 4096

export function keepCookies(): Cookies {
  const kept = new Map<string, string>()
  return {
    take(headers) {
      for (const set of headers.getSetCookie()) {
        const [, name, value] = /^([^=;]+)=([^;]*)/.exec(set) ?? []
        if (name === undefined || value === undefined || set.length > LONGEST) continue
        if (kept.has(name) || kept.size < MAX_COOKIES) kept.set(name, value)
      }
    },
    header() {
      const pairs = [...kept].map(([name, value]) => `${name}=${value}`)
      return pairs.length > 0 ? { cookie: pairs.join('; ') } : {}
    },
  }
}
