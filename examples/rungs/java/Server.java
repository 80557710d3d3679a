import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.Executors;
import java.util.stream.Stream;

/** GET /qrcode with the JDK's server: a rung's main calls serve. */
final class Server {
    interface Draw {
        byte[] png(byte[] utf8) throws Exception;
    }

    private static final class Refused extends Exception {
        Refused(String problem) {
            super(problem);
        }
    }

    static void serve(String address, Draw draw) throws IOException {
        // Otherwise every answer on a kept connection waits for the client's acknowledgement of the previous one.
        System.setProperty("sun.net.httpserver.nodelay", "true");
        String[] parts = address.split(":");
        var server = HttpServer.create(new InetSocketAddress(parts[0], Integer.parseInt(parts[1])), 1024);
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.createContext("/qrcode", exchange -> answer(exchange, draw));
        server.start();
    }

    /** Decodes a part of a query. The JDK's server has already refused broken escapes. */
    private static byte[] decode(String raw) {
        return URLDecoder.decode(raw, ISO_8859_1).getBytes(ISO_8859_1);
    }

    private static byte[] readText(String query) throws Refused {
        String[] values = Stream.of(Objects.requireNonNullElse(query, "").split("&"))
                .map(pair -> (pair + "=").split("=", 2))
                .filter(pair -> new String(decode(pair[0]), UTF_8).equals("text"))
                .map(pair -> pair[1].isEmpty() ? "" : pair[1].substring(0, pair[1].length() - 1))
                .toArray(String[]::new);
        if (String.join("", values).isEmpty()) {
            throw new Refused("missing \"text\" query param");
        }
        if (values.length > 1) {
            throw new Refused("text must be given once");
        }
        byte[] text = decode(values[0]);
        try {
            UTF_8.newDecoder().decode(ByteBuffer.wrap(text));
        } catch (CharacterCodingException broken) {
            throw new Refused("text must be valid UTF-8");
        }
        if (text.length > 512) {
            throw new Refused("text must be <= 512 bytes");
        }
        return text;
    }

    private static void answer(HttpExchange exchange, Draw draw) throws IOException {
        try {
            answerText(exchange, draw);
        } catch (Refused refused) {
            refuse(exchange, 400, refused.getMessage());
        } catch (Exception failed) {
            System.err.println(failed);
            refuse(exchange, 500, "failed generating QR code");
        } finally {
            exchange.close();
        }
    }

    private static void answerText(HttpExchange exchange, Draw draw) throws Exception {
        String id = exchange.getRequestHeaders().getFirst("X-Request-Id");
        boolean isGood = id != null && id.matches("[!-~]{1,128}");
        var headers = exchange.getResponseHeaders();
        headers.set("X-Request-Id", isGood ? id : UUID.randomUUID().toString());
        headers.set("X-Content-Type-Options", "nosniff");
        String method = exchange.getRequestMethod();
        if (!method.equals("GET") && !method.equals("HEAD")) {
            headers.set("Allow", "GET, HEAD");
            refuse(exchange, 405, "method not allowed");
            return;
        }
        byte[] text = readText(exchange.getRequestURI().getRawQuery());
        byte[] hash = MessageDigest.getInstance("SHA-256").digest(text);
        String tag = '"' + HexFormat.of().formatHex(hash, 0, 16) + '"';
        headers.set("Cache-Control", "public, max-age=86400");
        headers.set("ETag", tag);
        String asked = exchange.getRequestHeaders().getFirst("If-None-Match");
        if (asked != null && (asked.equals("*") || asked.contains(tag))) {
            exchange.sendResponseHeaders(304, -1);
        } else {
            send(exchange, 200, "image/png", draw.png(text));
        }
    }

    private static void refuse(HttpExchange exchange, int status, String problem) throws IOException {
        exchange.getResponseHeaders().set("Cache-Control", "no-store");
        send(exchange, status, "text/plain; charset=utf-8", problem.getBytes(UTF_8));
    }

    private static void send(HttpExchange exchange, int status, String type, byte[] body) throws IOException {
        exchange.getResponseHeaders().set("Content-Type", type);
        boolean isHead = exchange.getRequestMethod().equals("HEAD");
        if (isHead) {
            exchange.getResponseHeaders().set("Content-Length", String.valueOf(body.length));
        }
        exchange.sendResponseHeaders(status, isHead ? -1 : body.length);
        if (!isHead) {
            exchange.getResponseBody().write(body);
        }
    }
}
