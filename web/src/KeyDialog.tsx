// Asks for the API key, and where to keep it.
import { useEffect, useRef } from 'preact/hooks';

import { key, keyRemembered, takeKey } from './lib/api';

export function KeyDialog({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current!.showModal();
  }, []);
  return (
    <dialog ref={dialog} class="key-dialog" aria-labelledby="key-title" onClose={onClose}>
      <form method="dialog" onSubmit={(event) => {
        const form = new FormData(event.currentTarget);
        takeKey(String(form.get('key')).trim(), form.get('remember') !== null);
      }}>
        <h2 id="key-title">API key</h2>
        <p>The server was started with keys. The page shows what your key may see.</p>
        <label>Key<input name="key" type="password" autocomplete="off" defaultValue={key.value} /></label>
        <label class="check"><input name="remember" type="checkbox" defaultChecked={keyRemembered()} />Keep it in this browser</label>
        <p class="note">Otherwise it is forgotten when this tab is closed.</p>
        <div class="row">
          <span class="spring" />
          <button type="button" class="small" onClick={() => dialog.current!.close()}>Cancel</button>
          <button type="submit" class="small primary">Use it</button>
        </div>
      </form>
    </dialog>
  );
}
