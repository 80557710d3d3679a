<?php
// Starts the program qr-draw for each picture.

declare(strict_types=1);

function draw(string $text): string
{
    $command = [$_SERVER['QR_PROGRAM'], '--format', 'png', '--keep-newline', '-'];
    $process = proc_open($command, [['pipe', 'r'], ['pipe', 'w']], $pipes);
    fwrite($pipes[0], $text);
    fclose($pipes[0]);
    $png = stream_get_contents($pipes[1]);
    $status = proc_close($process);
    return $status === 0 ? $png : throw new RuntimeException("qr-draw ended with $status");
}
