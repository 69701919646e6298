import { inProject } from '../app/project';
import { useSession } from '../app/session';
import { text } from '../text';
import { ApiError, sessionEnded } from './client';

// Sends a file and tells how far it is; fetch() cannot tell that.
export function upload<Answer>(path: string, file: Blob, type: string, onProgress: (share: number) => void): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', inProject(path));
    request.setRequestHeader('Content-Type', type);
    const csrf = useSession.getState().session?.csrf_token;
    if (csrf) request.setRequestHeader('X-CSRF-Token', csrf);
    request.upload.onprogress = (event) => onProgress(event.total > 0 ? event.loaded / event.total : 0);
    request.onerror = () => reject(new ApiError(0, text.errors.offline));
    request.onload = () => {
      let told: Record<string, unknown> = {};
      try {
        told = JSON.parse(request.responseText) as Record<string, unknown>;
      } catch {
        // An answer without a sentence, from something between here and the service.
      }
      if (request.status >= 200 && request.status < 300) return resolve(told as Answer);
      if (request.status === 401) sessionEnded();
      reject(new ApiError(request.status, typeof told.error === 'string' ? told.error : text.errors.status(request.status), told));
    };
    request.send(file);
  });
}
