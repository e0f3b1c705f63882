// This package's folder and version. The version is written only in package.json; other modules get it from here.

import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname } from 'node:path'

// Searches upwards, because sources and built files lie at different depths.
const DESCRIPTION = findPackageJSON(import.meta.url)!

export const PACKAGE_ROOT: string = dirname(DESCRIPTION)

export const VERSION: string = (JSON.parse(readFileSync(DESCRIPTION, 'utf8')) as { version: string }).version
