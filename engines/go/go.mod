module ipcmark.example/engines

go 1.21
