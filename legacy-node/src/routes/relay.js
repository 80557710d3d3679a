import { liftRequestTimeout } from '../http/public-server.js';
import { readTarget } from '../relay/target.js';

/**
 * The relay, `/p/KEY`, on the app's own listener. It reads the raw target, because keys keep their percent-encoding,
 * which Express would decode.
 * @param {object} relay of `createRelay`
 */
export function mountRelay(app, { handle }) {
  app.use((req, res, next) => {
    if (readTarget(req.url).key === undefined) return next();
    res.locals.route = '/p/:key';
    liftRequestTimeout(req, res);
    handle(req, res);
  });
}
