/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keywords.c -- headers in memory, and reading the extra keywords.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/uvh5/uvh5_reader.h"

/* Most keywords. */
#define MAX_KEYWORDS 4096

void fx8_uvh5_header_clear(struct fx8_uvh5_header *header)
{
    free(header->antenna_numbers);
    free(header->antenna_names);
    free(header->antenna_positions_m);
    free(header->ant_1);
    free(header->ant_2);
    free(header->uvw_m);
    free(header->times);
    free(header->julian_dates);
    free(header->apparent_lst_rad);
    free(header->frequencies_hz);
    free(header->channel_widths_hz);
    free(header->history);
    free(header->keywords);
    *header = (struct fx8_uvh5_header){0};
}

const struct fx8_keyword *fx8_uvh5_keyword(const struct fx8_uvh5_header *header,
                                           const char *name)
{
    for (size_t i = 0; i < header->n_keywords; i++)
        if (strcmp(header->keywords[i].name, name) == 0)
            return &header->keywords[i];
    return NULL;
}

/* Class of the elements of a dataset, H5T_NO_CLASS if it is absent. */
static H5T_class_t class_of(const struct fx8_h5_place *group, const char *name)
{
    FX8_H5_AUTO dataset = FX8_H5_NONE;
    if (fx8_h5_open_dataset(group->path, group->object, name, H5P_DEFAULT,
                            &dataset, NULL) != FX8_OK)
        return H5T_NO_CLASS;
    FX8_H5_AUTO type = H5Dget_type(dataset);
    return H5Tget_class(type);
}

/* Read one keyword; false if we cannot represent it. */
static bool take_keyword(const struct fx8_h5_place *group, const char *name,
                         struct fx8_keyword *keyword)
{
    *keyword = (struct fx8_keyword){.type = FX8_KEYWORD_TEXT};
    if (strlen(name) >= sizeof keyword->name)
        return false;
    strcpy(keyword->name, name);
    switch (class_of(group, name)) {
    case H5T_STRING:
        return fx8_h5_get_texts(group, name, 1, sizeof keyword->text,
                                keyword->text, NULL) == FX8_OK;
    case H5T_INTEGER:
    case H5T_ENUM:
        keyword->type = FX8_KEYWORD_INTEGER;
        return fx8_h5_get_integers(group, name, fx8_h5_all(1, 1),
                                   &keyword->integer, NULL) == FX8_OK;
    case H5T_FLOAT:
        keyword->type = FX8_KEYWORD_REAL;
        return fx8_h5_get_reals(group, name, fx8_h5_all(1, 1), &keyword->real,
                                NULL) == FX8_OK;
    default:
        return false;
    }
}

enum fx8_status fx8_uvh5_get_keywords(struct fx8_uvh5_file *file,
                                      struct fx8_uvh5_header *header,
                                      struct fx8_error *error)
{
    if (H5Lexists(file->group, "extra_keywords", H5P_DEFAULT) <= 0)
        return FX8_OK;
    FX8_H5_AUTO id = H5Gopen2(file->group, "extra_keywords", H5P_DEFAULT);
    H5G_info_t info = {.nlinks = 0};
    if (id < 0 || H5Gget_info(id, &info) < 0)
        return fx8_h5_fail(error, FX8_ERR_INPUT, file->path, "extra_keywords");
    const size_t n =
        info.nlinks < MAX_KEYWORDS ? (size_t)info.nlinks : MAX_KEYWORDS;
    FX8_TRY(fx8_allocate(n, sizeof *header->keywords, "keywords",
                         &header->keywords, error));
    const struct fx8_h5_place group = {file->path, id, false};
    for (size_t i = 0; i < n; i++) {
        char name[FX8_TEXT_SIZE];
        const ssize_t length =
            H5Lget_name_by_idx(id, ".", H5_INDEX_NAME, H5_ITER_INC, (hsize_t)i,
                               name, sizeof name, H5P_DEFAULT);
        if (length > 0 && (size_t)length < sizeof name &&
            take_keyword(&group, name, &header->keywords[header->n_keywords]))
            header->n_keywords++;
    }
    return FX8_OK;
}
