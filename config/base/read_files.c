/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/read_files.h"

struct identity {
    dev_t device;
    ino_t inode;
};

/* tsearch() trees: files by identity, folders by name. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *files, *folders;

static int compare_identities(const void *a, const void *b)
{
    const struct identity *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return (x->inode > y->inode) - (x->inode < y->inode);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Insert `item` into a tree; free it if an equal item is there. */
static bool add(void **tree, void *item,
                int (*compare)(const void *a, const void *b))
{
    if (item == NULL)
        return false;
    pthread_mutex_lock(&mutex);
    void *const *found = tsearch(item, tree, compare);
    const bool is_kept = found != NULL && *found == item;
    pthread_mutex_unlock(&mutex);
    if (!is_kept)
        free(item);
    return found != NULL;
}

bool fx8_read_files_add(const struct stat *file)
{
    struct identity *item = malloc(sizeof *item);
    if (item != NULL)
        *item = (struct identity){file->st_dev, file->st_ino};
    return add(&files, item, compare_identities);
}

bool fx8_read_files_add_folder(const char *path)
{
    return add(&folders, strdup(path), compare_names);
}

/* Search over the folders. */
struct search {
    struct identity wanted;
    bool is_found;
};

static void search_folder(const void *node, VISIT visit, void *context)
{
    struct search *search = context;
    const char *const *path = node;
    DIR *folder = NULL;
    if ((visit == postorder || visit == leaf) && !search->is_found)
        folder = opendir(*path);
    if (folder == NULL)
        return;
    const struct dirent *entry;
    while (!search->is_found && (entry = readdir(folder)) != NULL) {
        struct stat file;
        search->is_found =
            fstatat(dirfd(folder), entry->d_name, &file, 0) == 0 &&
            file.st_dev == search->wanted.device &&
            file.st_ino == search->wanted.inode;
    }
    closedir(folder);
}

bool fx8_read_files_has(const struct stat *file)
{
    struct search search = {{file->st_dev, file->st_ino}, false};
    pthread_mutex_lock(&mutex);
    if (tfind(&search.wanted, &files, compare_identities) != NULL)
        search.is_found = true;
    else
        twalk_r(folders, search_folder, &search);
    pthread_mutex_unlock(&mutex);
    return search.is_found;
}

void fx8_read_files_forget(void)
{
    pthread_mutex_lock(&mutex);
    tdestroy(files, free);
    tdestroy(folders, free);
    files = folders = NULL;
    pthread_mutex_unlock(&mutex);
}
