// Models of realistic size and shape with random weights. holdfast-genmodel writes them into
// the user's cache folder, once; they are the same on every machine.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';

export function modelFolder(environment = process.env) {
  return join(environment.XDG_CACHE_HOME || join(os.homedir(), '.cache'), 'holdfast/models');
}

export const modelPath = (shape, { mtp = false } = {}) => join(modelFolder(), `${shape}${mtp ? '-mtp' : ''}-q8_0.gguf`);

// The path of a model, made now if it is missing. Its progress is shown.
export function ensureModel(generator, shape, { mtp = false, say = () => {} } = {}) {
  const path = modelPath(shape, { mtp });
  if (existsSync(path)) return path;
  mkdirSync(modelFolder(), { recursive: true });
  say(`writing the random model ${path}, once`);
  const made = spawnSync(generator, ['--shape', shape, '--out', path, ...(mtp ? ['--mtp'] : [])], { stdio: 'inherit' });
  if (made.status === 0) return path;
  throw new Error(`${generator} could not write ${path}; is there room on the disk?`);
}
