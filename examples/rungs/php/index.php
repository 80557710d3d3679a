<?php
// GET /qrcode with PHP-FPM behind nginx. RUNG names the file with draw().

declare(strict_types=1);

require __DIR__ . "/{$_SERVER['RUNG']}.php";

/** Decodes a part of a query; null if an escape is broken. */
function decoded(string $raw): ?string
{
    return preg_match('/%(?![0-9A-Fa-f]{2})/', $raw) ? null : urldecode($raw);
}

function read_text(string $query): string
{
    $values = [];
    foreach (explode('&', $query) as $pair) {
        [$name, $value] = explode('=', "$pair=", 2);
        if (decoded($name) === 'text') {
            $values[] = substr($value, 0, -1);
        }
    }
    if (implode('', $values) === '') {
        throw new DomainException('missing "text" query param');
    }
    if (count($values) > 1) {
        throw new DomainException('text must be given once');
    }
    $text = decoded($values[0]);
    if ($text === null || !preg_match('//u', $text)) {
        throw new DomainException('text must be valid UTF-8');
    }
    if (strlen($text) > 512) {
        throw new DomainException('text must be <= 512 bytes');
    }
    return $text;
}

function send(int $status, string $type, string $cached, string $body): void
{
    http_response_code($status);
    header("Content-Type: $type");
    header("Cache-Control: $cached");
    header('Content-Length: ' . strlen($body));
    echo $body;
}

function refuse(int $status, string $problem): void
{
    send($status, 'text/plain; charset=utf-8', 'no-store', $problem);
}

function answer(): void
{
    $id = $_SERVER['HTTP_X_REQUEST_ID'] ?? '';
    header('X-Request-Id: ' . (preg_match('/^[!-~]{1,128}$/D', $id) ? $id : bin2hex(random_bytes(16))));
    header('X-Content-Type-Options: nosniff');
    if (!in_array($_SERVER['REQUEST_METHOD'], ['GET', 'HEAD'], true)) {
        header('Allow: GET, HEAD');
        refuse(405, 'method not allowed');
        return;
    }
    $text = read_text($_SERVER['QUERY_STRING']);
    $tag = '"' . substr(hash('sha256', $text), 0, 32) . '"';
    header("ETag: $tag");
    $asked = $_SERVER['HTTP_IF_NONE_MATCH'] ?? '';
    if ($asked === '*' || str_contains($asked, $tag)) {
        http_response_code(304);
        return;
    }
    send(200, 'image/png', 'public, max-age=86400', draw($text));
}

try {
    answer();
} catch (DomainException $problem) {
    refuse(400, $problem->getMessage());
} catch (Throwable $failed) {
    error_log((string) $failed);
    refuse(500, 'failed generating QR code');
}
