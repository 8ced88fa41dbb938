/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/driver.h"
#include "io/parts.h"
#include "io/undo.h"

#define MAGIC       "fx8undo2"
#define MAGIC_BYTES 8
#define NAME_BYTES  7 /* of it without the version */
#define BOOT_BYTES  40
#define BOOT_FILE   "/proc/sys/kernel/random/boot_id"

struct fx8_undo_range {
    uint64_t address, size;
};

/* Says which file it is; an inode can have been another file's. */
struct identity {
    uint64_t inode;
    uint64_t born_ns; /* since 1970; 0: the file system does not say */
};

/* The begin of a file of saved bytes. */
struct header {
    char magic[MAGIC_BYTES];
    char boot[BOOT_BYTES]; /* of the kernel that changes the file; zeros:
                              of several */
    struct identity file;
    uint64_t end; /* of that file */
    uint64_t crc; /* of all before */
};

/* Behind it: where the record is of what is being written into the file, or one
 * of these. */
#define NOTHING 0
#define SEVERAL UINT64_MAX /* several writes, which have no record */

/* The records of saved bytes begin behind that. */
#define FIRST_RECORD (sizeof(struct header) + sizeof(uint64_t))

/* Before the bytes of a range. */
struct record {
    struct fx8_undo_range range;
    uint64_t crc; /* of the range and its bytes */
};

/* --- reading and writing -------------------------------------------------- */

/* Whether a file with this begin is one of saved bytes, its first n_bytes being
 * those of MAGIC; before its header is there, it begins with zeros. */
static bool is_ours(const char start[MAGIC_BYTES], size_t n_bytes)
{
    static const char zeros[MAGIC_BYTES];
    return memcmp(start, MAGIC, n_bytes) == 0 ||
           memcmp(start, zeros, MAGIC_BYTES) == 0;
}

static uint64_t crc_of_header(const struct header *header)
{
    return crc32_z(0, (const Bytef *)header, offsetof(struct header, crc));
}

static uint64_t crc_of_record(const struct record *record, const char *bytes)
{
    const uLong crc =
        crc32_z(0, (const Bytef *)&record->range, sizeof record->range);
    return crc32_z(crc, (const Bytef *)bytes, (size_t)record->range.size);
}

static int write_at(int descriptor, const void *bytes, size_t size,
                    uint64_t offset)
{
    size_t n;
    return fx8_driver_write(descriptor, offset, size, bytes, &n);
}

/* Say which file it is, and its length; false: errno. */
static bool identify(int descriptor, struct identity *file, uint64_t *length)
{
    struct statx status;
    if (statx(descriptor, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME,
              &status) != 0)
        return false;
    const struct statx_timestamp born = status.stx_btime;
    const bool is_known = (status.stx_mask & STATX_BTIME) != 0;
    *length = status.stx_size;
    *file = (struct identity){
        .inode = status.stx_ino,
        .born_ns =
            is_known ? (uint64_t)born.tv_sec * 1000000000 + born.tv_nsec : 0};
    return true;
}

static bool is_same_file(struct identity a, struct identity b)
{
    return a.inode == b.inode &&
           (a.born_ns == b.born_ns || a.born_ns == 0 || b.born_ns == 0);
}

static int sync_file(int descriptor)
{
    return fsync(descriptor) == 0 ? 0 : errno;
}

/* The kernel's name for the time since the machine was started; zeros without
 * one. */
static void name_boot(char boot[BOOT_BYTES])
{
    memset(boot, 0, BOOT_BYTES);
    const int descriptor = open(BOOT_FILE, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return;
    if (pread(descriptor, boot, BOOT_BYTES, 0) < 0)
        memset(boot, 0, BOOT_BYTES);
    close(descriptor);
}

/* --- saving --------------------------------------------------------------- */

/* Open the file of an earlier run, perhaps of another version; negative: none,
 * or another file. */
static int open_own(const char *path)
{
    char start[MAGIC_BYTES] = "";
    const int descriptor =
        open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0 || (pread(descriptor, start, sizeof start, 0) >= 0 &&
                           is_ours(start, NAME_BYTES)))
        return descriptor;
    close(descriptor);
    return -1;
}

/* Lock it, where the file system has locks; true: another run has it. */
static bool is_locked(int descriptor)
{
    return fx8_part_lock(descriptor) != 0 &&
           (errno == EAGAIN || errno == EACCES);
}

/* Open the file beside the protected one, or create it.  If the one of an
 * earlier run were removed first, a kill could come before the new one. */
static int create(struct fx8_undo *undo)
{
    undo->descriptor = open_own(undo->path);
    if (undo->descriptor < 0)
        undo->descriptor =
            open(undo->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                 0666);
    undo->is_open = undo->descriptor >= 0;
    if (!undo->is_open)
        return errno;
    /* two runs that began together can both have found no other so far */
    if (is_locked(undo->descriptor) ||
        !fx8_part_is_name_of(undo->path, undo->descriptor)) {
        fx8_undo_close(undo);
        return EBUSY;
    }
    fx8_part_sync_folder(undo->path);
    return 0;
}

int fx8_undo_begin(struct fx8_undo *undo, int file, uint64_t most)
{
    struct header header = {.magic = MAGIC};
    int reason = undo->is_open ? 0 : create(undo);
    if (reason != 0)
        return reason;
    if (!identify(file, &header.file, &header.end) ||
        ftruncate(undo->descriptor, 0) != 0)
        return errno;
    if (undo->is_one_machine)
        name_boot(header.boot);
    if (most < header.end)
        header.end = most;
    header.crc = crc_of_header(&header);
    reason = write_at(undo->descriptor, &header, sizeof header, 0);
    undo->end = header.end;
    undo->length = FIRST_RECORD;
    undo->n_saved = 0;
    undo->is_awaited = false;
    if (reason == 0)
        reason = fx8_undo_noted(undo);
    /* records of before must not come back behind those that follow */
    return reason != 0 ? reason : sync_file(undo->descriptor);
}

static int write_record(const struct fx8_undo *undo, uint64_t offset,
                        struct fx8_undo_range range, const char *bytes)
{
    struct record record = {.range = range};
    record.crc = crc_of_record(&record, bytes);
    const int reason =
        write_at(undo->descriptor, &record, sizeof record, offset);
    return reason != 0 ? reason
                       : write_at(undo->descriptor, bytes, (size_t)range.size,
                                  offset + sizeof record);
}

/* Say what is being written. */
static int point_to(const struct fx8_undo *undo, uint64_t offset)
{
    return undo->is_open ? write_at(undo->descriptor, &offset, sizeof offset,
                                    sizeof(struct header))
                         : 0;
}

int fx8_undo_note(struct fx8_undo *undo, uint64_t address, size_t size,
                  const void *bytes)
{
    if (bytes == NULL || !undo->is_open)
        return point_to(undo, SEVERAL);
    /* its crc is wrong, which ends the list of saved bytes */
    const struct record end = {.crc = 0};
    const uint64_t offset = undo->length + sizeof end;
    int reason = write_at(undo->descriptor, &end, sizeof end, undo->length);
    if (reason == 0)
        reason = write_record(undo, offset,
                              (struct fx8_undo_range){address, size}, bytes);
    return reason == 0 ? point_to(undo, offset) : reason;
}

int fx8_undo_noted(struct fx8_undo *undo)
{
    return point_to(undo, NOTHING);
}

static bool is_saved(const struct fx8_undo *undo, struct fx8_undo_range range)
{
    for (size_t i = undo->n_saved; i-- > 0;)
        if (undo->saved[i].address <= range.address &&
            range.address + range.size <=
                undo->saved[i].address + undo->saved[i].size)
            return true;
    return false;
}

/* Add a range; false without memory. */
static bool list(struct fx8_undo *undo, struct fx8_undo_range range)
{
    if (fx8_grow(&undo->saved, undo->n_saved, sizeof *undo->saved, "ranges",
                 NULL) != FX8_OK)
        return false;
    undo->saved[undo->n_saved++] = range;
    return true;
}

int fx8_undo_save(struct fx8_undo *undo, int file, uint64_t address,
                  size_t size)
{
    if (!undo->is_open || address >= undo->end)
        return 0;
    const uint64_t left = undo->end - address;
    const size_t n = left < size ? (size_t)left : size;
    const struct fx8_undo_range range = {address, n};
    if (is_saved(undo, range))
        return 0;
    FX8_AUTO_FREE char *bytes = malloc(n);
    if (bytes == NULL || !list(undo, range))
        return ENOMEM;
    if (!fx8_driver_read(file, address, n, bytes))
        return errno;
    const int reason = write_record(undo, undo->length, range, bytes);
    undo->length += sizeof(struct record) + n;
    undo->is_awaited = true;
    return reason;
}

int fx8_undo_await(struct fx8_undo *undo)
{
    const int reason = undo->is_awaited ? sync_file(undo->descriptor) : 0;
    undo->is_awaited = false;
    return reason;
}

/* Forget the kernel of a file of saved bytes; if that fails, the file. */
static void forget_boot(const char *path, int descriptor)
{
    struct header header;
    bool is_done = fx8_driver_read(descriptor, 0, sizeof header, &header);
    memset(header.boot, 0, sizeof header.boot);
    header.crc = crc_of_header(&header);
    is_done = is_done && write_at(descriptor, &header, sizeof header, 0) == 0 &&
              sync_file(descriptor) == 0;
    if (!is_done)
        (void)unlink(path);
}

void fx8_undo_distrust(const struct fx8_undo *undo)
{
    if (undo->is_open)
        forget_boot(undo->path, undo->descriptor);
}

/* --- writing back --------------------------------------------------------- */

/* Read the record at an offset with its bytes, which the caller frees; *bytes
 * is NULL if it is not whole.  0 or an errno. */
static int read_record(int descriptor, uint64_t offset, uint64_t length,
                       struct record *record, char **bytes)
{
    const uint64_t begin = offset + sizeof *record;
    *bytes = NULL;
    if (length < begin)
        return 0;
    if (!fx8_driver_read(descriptor, offset, sizeof *record, record))
        return errno;
    if (record->range.size > length - begin)
        return 0;
    const size_t n = (size_t)record->range.size;
    FX8_AUTO_FREE char *read = malloc(n);
    if (read == NULL)
        return ENOMEM;
    if (!fx8_driver_read(descriptor, begin, n, read))
        return errno;
    if (record->crc == crc_of_record(record, read)) {
        *bytes = read;
        read = NULL;
    }
    return 0;
}

/* List the offsets of the records that are whole. */
static int find_records(int descriptor, uint64_t length, struct fx8_undo *found)
{
    struct record record;
    uint64_t offset = FIRST_RECORD;
    for (;;) {
        FX8_AUTO_FREE char *bytes = NULL;
        const int reason =
            read_record(descriptor, offset, length, &record, &bytes);
        if (reason != 0 || bytes == NULL)
            return reason;
        if (!list(found, (struct fx8_undo_range){offset, 0}))
            return ENOMEM;
        offset += sizeof record + record.range.size;
    }
}

/* Write all records back, the last one first: of bytes that were saved twice,
 * the first record has the older ones. */
static int write_back(int descriptor, uint64_t length, int file)
{
    struct fx8_undo records = {.n_saved = 0};
    int reason = find_records(descriptor, length, &records);
    for (size_t i = records.n_saved; i-- > 0 && reason == 0;) {
        struct record record;
        FX8_AUTO_FREE char *bytes = NULL;
        reason = read_record(descriptor, records.saved[i].address, length,
                             &record, &bytes);
        if (reason == 0)
            reason = write_at(file, bytes, (size_t)record.range.size,
                              record.range.address);
    }
    free(records.saved);
    return reason;
}

/* Complete what was being written, unless nobody knows what it was.  0 or an
 * errno. */
static int complete(int descriptor, uint64_t length, int file, bool *is_known)
{
    struct record record;
    uint64_t offset;
    if (!fx8_driver_read(descriptor, sizeof(struct header), sizeof offset,
                         &offset))
        return errno;
    *is_known = offset == NOTHING;
    if (offset == NOTHING || offset == SEVERAL)
        return 0;
    FX8_AUTO_FREE char *bytes = NULL;
    const int reason = read_record(descriptor, offset, length, &record, &bytes);
    *is_known = bytes != NULL;
    return bytes == NULL ? reason
                         : write_at(file, bytes, (size_t)record.range.size,
                                    record.range.address);
}

/* Write back what was saved, and cut what is behind: HDF5 takes it for zeros.
 * 0 or an errno. */
static int go_back(int descriptor, uint64_t length, int file, uint64_t end)
{
    const int reason = write_back(descriptor, length, file);
    return reason == 0 && ftruncate(file, (off_t)end) != 0 ? errno : reason;
}

static int restore(const char *path, int descriptor, int file,
                   enum fx8_undo_found *found)
{
    struct header header;
    struct identity of_file;
    struct stat saved;
    uint64_t end;
    char boot[BOOT_BYTES];
    int reason = 0;
    if (!identify(file, &of_file, &end) || fstat(descriptor, &saved) != 0 ||
        !fx8_driver_read(descriptor, 0, sizeof header, &header))
        return errno;
    /* the disk has all of the file until a header is written */
    const bool is_of_version = is_ours(header.magic, MAGIC_BYTES);
    if (header.crc == 0 && is_of_version)
        *found = FX8_UNDO_RESTORED;
    if (header.crc != crc_of_header(&header) || !is_of_version ||
        !is_same_file(header.file, of_file) || header.end > end)
        return 0;
    const uint64_t length = (uint64_t)saved.st_size;
    name_boot(boot);
    bool is_same =
        boot[0] != '\0' && memcmp(boot, header.boot, sizeof boot) == 0;
    if (is_same)
        reason = complete(descriptor, length, file, &is_same);
    if (reason == 0 && !is_same)
        reason = go_back(descriptor, length, file, header.end);
    if (reason != 0)
        return reason;
    reason = sync_file(file);
    if (reason == 0)
        *found = is_same ? FX8_UNDO_SAME_BOOT : FX8_UNDO_RESTORED;
    else if (is_same)
        forget_boot(path, descriptor);
    return reason;
}

int fx8_undo_restore(const char *path, int file, enum fx8_undo_found *found)
{
    *found = FX8_UNDO_NONE;
    const int descriptor =
        open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return errno == ENOENT ? 0 : errno;
    *found = FX8_UNDO_FOREIGN;
    const int reason = restore(path, descriptor, file, found);
    close(descriptor);
    return reason;
}

/* --- end ------------------------------------------------------------------ */

void fx8_undo_remove(const char *path)
{
    const int descriptor = open_own(path);
    if (descriptor < 0)
        return;
    if (!is_locked(descriptor))
        (void)unlink(path);
    close(descriptor);
}

void fx8_undo_end(struct fx8_undo *undo)
{
    if (undo->is_open && fx8_part_is_name_of(undo->path, undo->descriptor))
        (void)unlink(undo->path);
    fx8_undo_close(undo);
}

void fx8_undo_close(struct fx8_undo *undo)
{
    if (undo->is_open)
        close(undo->descriptor);
    free(undo->saved);
    *undo = (struct fx8_undo){.path = undo->path};
}
